// A promise learns that its answer is not awaited any more, however far away the waiter was.

#include <troupe/core/system.hpp>
#include <troupe/core/task.hpp>
#include <troupe/testing/test_kit.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::test_kit;

struct work {};
struct through_then {};
struct through_coroutine {};

class worker final : public actor {
 public:
  explicit worker(std::vector<promise<int>>* all) : all_(*all) {}
  future<int> handle(work) { return all_.emplace_back().get_future(); }
  future<int> handle(through_then) {
    return all_.emplace_back().get_future().then([](int v) { return v + 1; });
  }

 private:
  std::vector<promise<int>>& all_;
};

class Abandoned : public ::testing::Test {
 protected:
  promise<int>& asked() {
    kit_.run_until_idle();
    return promises_.back();
  }

  std::vector<promise<int>> promises_;
  test_kit kit_;
  actor_ref<worker> worker_ = kit_.system().spawn<worker>(&promises_);
};

TEST_F(Abandoned, WhenTheAskerLetsGo) {
  auto reply = worker_.ask(work{});
  EXPECT_FALSE(asked().abandoned());
  reply = {};
  EXPECT_TRUE(asked().abandoned());
}

TEST_F(Abandoned, WhenTheAskHasTimedOut) {
  auto reply = worker_.ask(work{}, {.timeout = 10ms});
  EXPECT_FALSE(asked().abandoned());
  kit_.advance(10ms);
  EXPECT_EQ(reply.get_result().error().code, errc::timed_out);
  EXPECT_TRUE(asked().abandoned());
}

TEST_F(Abandoned, WhenTheAskHasBeenCancelled) {
  std::stop_source source;
  auto reply = worker_.ask(work{}, {.stop = source.get_token()});
  EXPECT_FALSE(asked().abandoned());
  source.request_stop();
  EXPECT_TRUE(asked().abandoned());
}

TEST_F(Abandoned, WhenTheAskerOfALimitedAskLetsGo) {
  auto reply = worker_.ask(work{}, {.timeout = 10ms});
  EXPECT_FALSE(asked().abandoned());
  reply = {};
  EXPECT_TRUE(asked().abandoned());
}

TEST_F(Abandoned, ThroughThenOfTheAskerAndOfTheHandler) {
  auto reply = worker_.ask(through_then{}, {.timeout = 10ms}).then([](int v) { return v + 1; });
  EXPECT_FALSE(asked().abandoned());
  reply = {};
  EXPECT_TRUE(asked().abandoned());
}

TEST_F(Abandoned, NotWhereThenWantsItForItself) {
  int got = 0;
  (void)worker_.ask(through_then{}).then([&](int v) { got = v; });
  EXPECT_FALSE(asked().abandoned());
  asked().set_value(1);
  kit_.run_until_idle();
  EXPECT_EQ(got, 2);
}

TEST(AbandonedChain, MayBeOfAnyLength) {
  promise<int> source;
  auto end = source.get_future();
  for (int i = 0; i < 200'000; ++i)
    end = std::move(end).then([](int v) { return v + 1; });
  end = {};
  EXPECT_FALSE(source.abandoned()) << "too far away";
  source.set_value(0);
}

struct forward_to {
  actor_ref<worker> who;
};
class forwarder final : public actor {
 public:
  future<int> handle(const forward_to& m) { return m.who.ask(work{}); }
  task<int> handle(std::pair<actor_ref<worker>, int> m) { co_return co_await m.first.ask(work{}); }
};

TEST_F(Abandoned, ThroughAnActorThatHandsTheReplyOn) {
  auto f = kit_.system().spawn<forwarder>();
  auto reply = f.ask(forward_to{worker_}, {.timeout = 10ms});
  EXPECT_FALSE(asked().abandoned());
  kit_.advance(10ms);
  EXPECT_TRUE(asked().abandoned());
}

TEST_F(Abandoned, WhenTheCoroutineThatAwaitsItHasEnded) {
  auto f = kit_.system().spawn<forwarder>();
  auto reply = f.ask(std::pair(worker_, 1));
  EXPECT_FALSE(asked().abandoned());
  f.stop();
  EXPECT_TRUE(asked().abandoned());
}

// The promise looks while the alarm, or the answer, decides.
TEST(AbandonedStress, LooksWhileItIsDecided) {
  for (int round = 0; round < 200; ++round) {
    promise<int> source;
    std::stop_source stop;
    promise<int> sink;
    future<int> limited = sink.get_future();
    auto* contest = detail::make_pooled<detail::race<int>>(std::move(sink));
    detail::race<int>::entry other(*contest);
    source.get_future().release_state().continue_with(*contest);
    std::atomic<bool> begun{false};
    std::thread decides([&] {
      while (!begun)
        std::this_thread::yield();
      other.lose_to(error{.code = errc::timed_out});
    });
    begun = true;
    while (!source.abandoned())
      std::this_thread::yield();
    decides.join();
    source.set_value(1);
    EXPECT_EQ(limited.get_result().error().code, errc::timed_out);
  }
}

}  // namespace
}  // namespace troupe
