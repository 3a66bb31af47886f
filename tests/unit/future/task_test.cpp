#include <troupe/testing/test_kit.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

namespace troupe {
namespace {

using testing::test_kit;

task<int> twice(future<int> source) { co_return 2 * co_await std::move(source); }
task<int> nested(future<int> source) { co_return 1 + co_await twice(std::move(source)); }
task<errc> code_of(future<int> source) {
  auto r = co_await as_result(std::move(source));
  co_return r ? errc{} : r.error().code;
}

TEST(Task, AwaitsFuturesAndOtherTasks) {
  promise<int> source;
  auto f = start(nested(source.get_future()));
  EXPECT_FALSE(f.ready());
  source.set_value(4);
  EXPECT_EQ(f.get(), 9);
}

TEST(Task, ThrowsTheErrorOfWhatItAwaitsUnlessAskedForAResult) {
  auto thrown = start(twice(make_failed_future<int>({.code = errc::numerical})));
  EXPECT_EQ(thrown.get_result().error().code, errc::numerical);
  EXPECT_EQ(start(code_of(make_failed_future<int>({.code = errc::numerical}))).get(),
            errc::numerical);
}

TEST(Task, DestroyedBeforeItBeganOrWhileItWaitsLeavesNothing) {
  promise<int> source;
  {
    auto never = nested(source.get_future());
  }
  EXPECT_TRUE(source.abandoned());
}

constexpr int long_enough = 200'000;

task<int> at_once(int n) { co_return n; }
task<int> as_deep_as(int left) {
  if (left > 0) co_return 1 + co_await as_deep_as(left - 1);
  co_return 0;
}
task<int> over_answers() {
  int sum = 0;
  for (int i = 0; i < long_enough; ++i)
    sum += co_await make_ready_future(1);
  co_return sum;
}
task<int> over_tasks() {
  int sum = 0;
  for (int i = 0; i < long_enough; ++i)
    sum += co_await at_once(1);
  co_return sum;
}
// Each answer comes while the coroutine is about to wait for it, or before.
task<int> over_chains() {
  int sum = 0;
  for (int i = 0; i < long_enough; ++i) {
    promise<int> source;
    auto next = source.get_future().then([](int n) { return n; });
    source.set_value(1);
    sum += co_await next;
  }
  co_return sum;
}

TEST(Task, LoopsOverWhatIsThereOnAStackOfAnySize) {
  EXPECT_EQ(start(over_answers()).get(), long_enough);
  EXPECT_EQ(start(over_tasks()).get(), long_enough);
  EXPECT_EQ(start(over_chains()).get(), long_enough);
}

TEST(Task, LoopsInAContinuationOnAStackOfAnySize) {
  promise<int> source;
  auto sum = source.get_future().then([](int) { return start(over_chains()); });
  source.set_value(0);
  EXPECT_EQ(sum.get(), long_enough);
}

TEST(Task, AwaitsTasksThatAwaitTasksToAnyDepth) {
  EXPECT_EQ(start(as_deep_as(long_enough)).get(), long_enough);
}

void until(const std::atomic<bool>& flag) {
  while (!flag.load())
    std::this_thread::yield();
}

struct wait_for {
  std::shared_ptr<promise<int>> gate;
};
struct wait_on {
  future<int> source;
};
struct count {};
struct by_reference {
  std::string text;
  std::shared_ptr<promise<int>> gate;
};
struct fail_after {
  std::shared_ptr<promise<int>> gate;
};

class waiter : public actor {
 public:
  task<int> handle(wait_for m) {
    const int v = co_await m.gate->get_future();
    co_return v + ++handled_;
  }
  task<int> handle(wait_on m) { co_return 1 + co_await std::move(m.source); }
  int handle(count) { return handled_; }
  task<std::string> handle(const by_reference& m) {
    (void)co_await m.gate->get_future();
    co_return m.text;
  }
  task<void> handle(fail_after m) {
    (void)co_await m.gate->get_future();
    throw failure(error{.code = errc::numerical});
  }

 private:
  int handled_ = 0;
};

class reentrant_waiter : public waiter {
 public:
  static constexpr bool reentrant = true;
};

std::shared_ptr<promise<int>> new_gate() { return std::make_shared<promise<int>>(); }

TEST(CoroutineHandler, HoldsUpTheNextMessageWhileItWaits) {
  test_kit kit;
  auto w = kit.system().spawn<waiter>();
  auto gate = new_gate();
  auto slow = w.ask(wait_for{gate});
  auto next = w.ask(count{});
  kit.run_until_idle();
  EXPECT_FALSE(next.ready());
  gate->set_value(10);
  EXPECT_FALSE(slow.ready());  // it resumes in the actor's turn, not in set_value
  kit.run_until_idle();
  EXPECT_EQ(slow.get(), 11);
  EXPECT_EQ(next.get(), 1);
}

TEST(CoroutineHandler, LetsTheNextMessageInWhenTheActorIsReentrant) {
  test_kit kit;
  auto w = kit.system().spawn<reentrant_waiter>();
  auto gate = new_gate();
  auto slow = w.ask(wait_for{gate});
  auto next = w.ask(count{});
  kit.run_until_idle();
  EXPECT_EQ(next.get(), 0);
  gate->set_value(10);
  kit.run_until_idle();
  EXPECT_EQ(slow.get(), 11);
}

TEST(CoroutineHandler, KeepsAMessageThatItTookByReference) {
  test_kit kit;
  auto w = kit.system().spawn<waiter>();
  auto gate = new_gate();
  auto reply = w.ask(by_reference{std::string(100, 'x'), gate});
  kit.run_until_idle();
  gate->set_value(0);
  EXPECT_EQ(reply.get(), std::string(100, 'x'));
}

TEST(CoroutineHandler, IsAnsweredWhenItsActorStopsAndItsFutureMayCompleteLater) {
  test_kit kit;
  auto w = kit.system().spawn<waiter>();
  auto gate = new_gate();
  auto reply = w.ask(wait_for{gate});
  kit.run_until_idle();
  w.stop();
  kit.run_until_idle();
  EXPECT_EQ(reply.get_result().error().code, errc::actor_stopped);
  gate->set_value(1);
  kit.run_until_idle();
}

TEST(CoroutineHandler, IsAnsweredOnceWhoeverIsFirstItsFutureOrItsActorsStop) {
  constexpr int rounds = 1'000;
  system s({.threads = 1});
  int values = 0;
  int stops = 0;
  for (int round = 0; round < rounds; ++round) {
    auto w = s.spawn<waiter>();
    auto gate = new_gate();
    auto reply = w.ask(wait_on{gate->get_future()});
    std::atomic<bool> go{false};
    std::jthread completer([&] {
      until(go);
      gate->set_value(round);
    });
    std::jthread stopper([&] {
      until(go);
      w.stop();
    });
    go.store(true);
    const result<int> answer = reply.get_result();
    if (answer) {
      EXPECT_EQ(*answer, round + 1);
      ++values;
    } else {
      EXPECT_EQ(answer.error().code, errc::actor_stopped);
      ++stops;
    }
  }
  EXPECT_EQ(values + stops, rounds);
}

TEST(CoroutineHandler, StopAfterMailboxLetsItEndFirst) {
  test_kit kit;
  for (const bool reentrant : {false, true}) {
    auto gate = new_gate();
    future<int> reply;
    any_actor_ref ref;
    if (reentrant) {
      auto w = kit.system().spawn<reentrant_waiter>();
      reply = w.ask(wait_for{gate});
      ref = w;
    } else {
      auto w = kit.system().spawn<waiter>();
      reply = w.ask(wait_for{gate});
      ref = w;
    }
    ref.stop_after_mailbox();
    kit.run_until_idle();
    EXPECT_FALSE(ref.stopped());
    gate->set_value(1);
    kit.run_until_idle();
    EXPECT_EQ(reply.get(), 2);
    EXPECT_TRUE(ref.stopped());
  }
}

TEST(CoroutineHandler, AnExceptionAfterItWaitedIsAFailureForTheSupervisor) {
  test_kit kit;
  auto w = kit.system().spawn<waiter>();
  auto gate = new_gate();
  auto reply = w.ask(fail_after{gate});
  kit.run_until_idle();
  gate->set_value(1);
  kit.run_until_idle();
  EXPECT_EQ(reply.get_result().error().code, errc::numerical);
  EXPECT_EQ(kit.system().actors().at(0).state, actor_state::failed);
  kit.advance(std::chrono::seconds(1));
  EXPECT_EQ(kit.system().actors().at(0).restarts, 1);
}

}  // namespace
}  // namespace troupe
