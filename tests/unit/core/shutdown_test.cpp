// A shutdown lets actors reply to all that they have taken in, or says how much was lost.

#include "supervised.hpp"

#include <troupe/core/task.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using namespace supervised;
using testing::test_kit;

struct tick {};
struct order {
  int n;
};

// Answers an order at each tick, the oldest first.
class counter_clerk final : public actor {
 public:
  void pre_start() override { every(this, 10ms, tick{}); }
  future<int> handle(order o) {
    numbers_.push_back(o.n);
    return orders_.emplace_back().get_future();
  }
  void handle(tick) {
    if (orders_.empty()) return;
    orders_.front().set_value(numbers_.front());
    orders_.erase(orders_.begin());
    numbers_.erase(numbers_.begin());
  }

 private:
  std::vector<promise<int>> orders_;
  std::vector<int> numbers_;
};

TEST(Shutdown, WaitsForRepliesThatArePending) {
  test_kit kit;
  auto clerk = kit.system().spawn<counter_clerk>();
  std::vector<future<int>> replies;
  for (int i = 0; i < 8; ++i)
    replies.push_back(clerk.ask(order{i}));
  kit.run_until_idle();
  auto done = kit.system().shutdown(5s);
  kit.advance(1s);
  ASSERT_TRUE(done.ready());
  EXPECT_TRUE(done.get_result());
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(replies[static_cast<std::size_t>(i)].get(), i);
  EXPECT_EQ(kit.system().dead_letter_count(), 0u) << "ticks are none";
}

// Asks the clerk for each of its own, one after another.
class customer final : public actor {
 public:
  explicit customer(actor_ref<counter_clerk> clerk) : clerk_(std::move(clerk)) {}
  task<int> handle(order o) { co_return co_await clerk_.ask(o); }

 private:
  actor_ref<counter_clerk> clerk_;
};

TEST(Shutdown, AnActorThatOthersStillAskIsThereForThem) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    test_kit kit(seed);
    auto clerk = kit.system().spawn<counter_clerk>();
    auto asks = kit.system().spawn<customer>(clerk);
    std::vector<future<int>> replies;
    for (int i = 0; i < 8; ++i)
      replies.push_back(asks.ask(order{i}));
    auto done = kit.system().shutdown(5s);
    kit.advance(1s);
    EXPECT_TRUE(done.get_result()) << seed;
    for (int i = 0; i < 8; ++i)
      ASSERT_EQ(replies[static_cast<std::size_t>(i)].get(), i) << seed;
  }
}

TEST(Shutdown, SaysHowMuchWasLostWhenPatienceEnds) {
  test_kit kit;
  auto clerk = kit.system().spawn<counter_clerk>();
  auto asks = kit.system().spawn<customer>(clerk);
  std::vector<future<int>> replies;
  for (int i = 0; i < 8; ++i)
    replies.push_back(asks.ask(order{i}));
  auto done = kit.system().shutdown(25ms);
  kit.advance(25ms);
  const error late = done.get_result().error();
  EXPECT_EQ(late.code, errc::timed_out);
  EXPECT_EQ(late.message,
            "the actors were stopped before they were done: 5 messages waited to be handled, 2 for "
            "their replies");
  kit.run_until_idle();
  int answered = 0;
  for (future<int>& one : replies)
    answered += one.get_result() ? 1 : 0;
  EXPECT_EQ(answered, 2);
}

// Two that keep each other busy for ever.
class player final : public actor {
 public:
  void handle(actor_ref<player> other) {
    ++strokes_;
    other.tell(reference(this));
  }

 private:
  int strokes_ = 0;
};

TEST(Shutdown, DoesNotWaitForWhatBeganAfterIt) {
  test_kit kit;
  auto one = kit.system().spawn<player>();
  auto other = kit.system().spawn<player>();
  one.tell(other);
  for (int i = 0; i < 10; ++i)
    kit.step();
  auto done = kit.system().shutdown(5s);
  for (int i = 0; i < 1'000 && !done.ready(); ++i)
    kit.step();
  EXPECT_TRUE(done.ready());
}

TEST(Shutdown, AReplyThatFailsOrWhoseActorStopsIsNotWaitedFor) {
  test_kit kit(0, deciding(&always_restart));
  auto first = kit.system().spawn<counter_clerk>();
  auto second = kit.system().spawn<counter_clerk>();
  auto lost = first.ask(order{1});
  auto answered = second.ask(order{2});
  kit.run_until_idle();
  auto done = kit.system().shutdown(5s);
  first.stop();
  kit.advance(10ms);
  EXPECT_EQ(lost.get_result().error().code, errc::no_reply);
  EXPECT_EQ(answered.get(), 2);
  EXPECT_TRUE(done.ready());
}

}  // namespace
}  // namespace troupe
