// Chains of continuations of any length, on a stack of the usual size and in the memory of a few.

#include "core/dispatch/deferred_continuations.hpp"

#include <troupe/core/future.hpp>
#include <troupe/core/future_combine.hpp>
#include <troupe/core/system.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;

constexpr int long_enough = 200'000;  // for each to take 40 bytes of the stack

future<int> chain_after(future<int> head, int links) {
  for (int i = 0; i < links; ++i)
    head = std::move(head).then([](int n) { return n + 1; });
  return head;
}

TEST(LongChain, RunsFromOneEndToTheOther) {
  promise<int> source;
  auto last = chain_after(source.get_future(), long_enough);
  source.set_value(0);
  EXPECT_EQ(last.get(), long_enough);
}

TEST(LongChain, OfAnAnswerThatIsThereRuns) {
  EXPECT_EQ(chain_after(make_ready_future(0), long_enough).get(), long_enough);
}

TEST(LongChain, HandsOnThatThePromiseWasDropped) {
  auto source = std::make_unique<promise<int>>();
  auto last = chain_after(source->get_future(), long_enough);
  source.reset();
  EXPECT_EQ(last.get_result().error().code, errc::no_reply);
}

TEST(LongChain, ThatNobodyWaitsForEndsWithItsPromise) {
  auto source = std::make_unique<promise<int>>();
  (void)chain_after(source->get_future(), long_enough);
  source.reset();
}

TEST(LongChain, OfPromisesInContinuationsIsDropped) {
  promise<int> next;
  auto last = next.get_future();
  for (int i = 0; i < long_enough; ++i) {
    promise<int> before;
    // Dropped with the function, which is dropped when the one before it is.
    (void)before.get_future().then([kept = std::move(next)](int) {});
    next = std::move(before);
  }
  std::make_unique<promise<int>>(std::move(next)).reset();
  EXPECT_EQ(last.get_result().error().code, errc::no_reply);
}

TEST(LongChain, OfCombinedFuturesRuns) {
  promise<int> source;
  auto last = source.get_future();
  for (int i = 0; i < long_enough / 4; ++i) {
    last =
        when_all(std::move(last), make_ready_future(1)).then([](const std::tuple<int, int>& both) {
          return std::get<0>(both) + std::get<1>(both);
        });
  }
  source.set_value(0);
  EXPECT_EQ(last.get(), long_enough / 4);
}

// Each answer asks the next question.
class questions {
 public:
  future<int> loop(int left) {
    promise<int> asked(&states_);
    auto answer = asked.get_future();
    asked_ = std::move(asked);
    return std::move(answer).then(
        [this, left](int) { return left == 0 ? make_ready_future(7) : loop(left - 1); });
  }
  [[nodiscard]] bool answer() {
    promise<int> now = std::move(asked_);
    if (!now.pending()) return false;
    now.set_value(0);
    return true;
  }
  void drop() { asked_ = promise<int>(detail::no_state); }
  [[nodiscard]] int most() const { return states_.most; }
  [[nodiscard]] int now() const { return states_.now; }

 private:
  // The driver of the futures that come from a question's.
  struct counter final : completion_driver {
    void drive_until(const future_state_base&,
                     std::chrono::steady_clock::time_point) noexcept override {}
    void retain() noexcept override { most = std::max(most, ++now); }
    void release() noexcept override { --now; }
    int now = 0;
    int most = 0;
  };
  counter states_;
  promise<int> asked_{detail::no_state};
};

TEST(LongChain, OfFunctionsThatReturnTheNextFutureKeepsNoMoreThanTheLast) {
  questions q;
  auto last = q.loop(long_enough);
  while (q.answer()) {
  }
  EXPECT_EQ(last.get(), 7);
  EXPECT_LE(q.most(), 6);
  EXPECT_EQ(q.now(), 0);
}

TEST(LongChain, OfFunctionsThatReturnTheNextFutureEndsWithTheLastPromise) {
  questions q;
  auto last = q.loop(long_enough);
  for (int i = 0; i < long_enough / 2; ++i)
    ASSERT_TRUE(q.answer());
  q.drop();
  EXPECT_EQ(last.get_result().error().code, errc::no_reply);
}

// Each in a continuation of the one before, before that has returned its future.
future<int> count_down(int left) {
  return make_ready_future(left).then(
      [](int n) { return n == 0 ? make_ready_future(7) : count_down(n - 1); });
}

TEST(LongChain, OfFunctionsWhoseAnswersAreThereRuns) {
  EXPECT_EQ(count_down(long_enough).get(), 7);
}

// In the middle of what is handed on, a continuation stays where it is.
TEST(LongChain, HandsOnToWhatWasAttachedInTheMiddle) {
  promise<int> inner;
  promise<int> outer;
  auto answer = outer.get_future().then([&](int) { return inner.get_future(); });
  auto seen = std::move(answer).then([](int n) { return n + 1; });
  outer.set_value(0);
  EXPECT_FALSE(seen.ready());
  inner.set_value(1);
  EXPECT_EQ(seen.get(), 2);
}

// Each waits for its gate, which the last one opens.
TEST(LongChain, OfContinuationsThatWaitGetsToTheOneThatTheyWaitFor) {
  constexpr std::size_t all = 30'000;
  std::vector<promise<int>> gates(all);
  std::vector<promise<int>> begins(all);
  std::atomic<std::size_t> passed{0};
  std::vector<future<void>> ends;
  ends.reserve(all + 1);
  for (std::size_t i = 0; i < all; ++i) {
    ends.push_back(
        begins[i].get_future().then([&passed, gate = gates[i].get_future()](int) mutable {
          passed += static_cast<std::size_t>(gate.get());
        }));
  }
  promise<int> last;
  ends.push_back(last.get_future().then([&](int) {
    for (auto& gate : gates)
      gate.set_value(1);
  }));
  detail::deferred_continuations& duties = detail::deferred_continuations::mine();
  duties.hold();
  for (auto& one : begins)
    one.set_value(0);
  last.set_value(0);
  duties.release();
  for (auto& end : ends)
    ASSERT_TRUE(end.wait_for(60s));
  EXPECT_EQ(passed, all);
}

struct go {
  int left;
};

class asks_itself final : public actor {
 public:
  future<int> handle(go m) {
    if (m.left == 0) return make_ready_future(7);
    return reference(this).ask(go{m.left - 1});
  }
  int handle(int n) { return n; }
};

TEST(LongChain, OfAsksThatAreAnsweredByTheNextRuns) {
  troupe::system system({.threads = 1});
  const auto a = system.spawn<asks_itself>();
  EXPECT_EQ(a.ask(go{long_enough / 2}).get(), 7);
}

future<int> ask_again(const actor_ref<asks_itself>& a, int left) {
  return a.ask(left).then(
      [a, left](int n) { return left == 0 ? make_ready_future(n) : ask_again(a, left - 1); });
}

TEST(LongChain, OfAsksInContinuationsRuns) {
  troupe::system system({.threads = 2});
  EXPECT_EQ(ask_again(system.spawn<asks_itself>(), long_enough / 2).get(), 0);
}

// The thread that waits for an idle actor runs it.
class waits_for_the_next final : public actor {
 public:
  explicit waits_for_the_next(std::vector<actor_ref<waits_for_the_next>> next)
      : next_(std::move(next)) {}
  int handle(go m) { return next_.empty() ? m.left : 1 + next_.front().ask(m).get(); }

 private:
  std::vector<actor_ref<waits_for_the_next>> next_;
};

TEST(LongChain, OfActorsThatWaitForTheNextIsAnswered) {
  constexpr int links = 20'000;
  troupe::system system({.threads = 2});
  auto first = system.spawn<waits_for_the_next>(std::vector<actor_ref<waits_for_the_next>>{});
  for (int i = 0; i < links; ++i)
    first = system.spawn<waits_for_the_next>(std::vector{first});
  EXPECT_EQ(first.ask(go{0}).get(), links);
}

}  // namespace
}  // namespace troupe
