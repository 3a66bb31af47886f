// Deferred work of an actor: timers and its stash.

#include "counting_actor.hpp"
#include "no_more_threads.hpp"
#include "under_sanitizers.hpp"

#include <troupe/core/system.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <thread>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using namespace counting;
using testing::test_kit;

struct tick {};
struct begin {
  std::chrono::nanoseconds period;
  bool repeat;
};
struct cancel {};

class metronome : public actor {
 public:
  void handle(begin b) {
    timer_ = b.repeat ? every(this, b.period, tick{}) : after(this, b.period, tick{});
  }
  void handle(tick) { ++ticks_; }
  void handle(cancel) { timer_.cancel(); }
  int handle(total) const { return ticks_; }

 private:
  timer timer_;
  int ticks_ = 0;
};

TEST(Timer, FiresOnceOrPeriodicallyUntilCancelled) {
  test_kit kit;
  auto once = kit.system().spawn<metronome>();
  auto often = kit.system().spawn<metronome>();
  once.tell(begin{10ms, false});
  often.tell(begin{10ms, true});
  kit.advance(55ms);
  EXPECT_EQ(once.ask(total{}).get(), 1);
  EXPECT_EQ(often.ask(total{}).get(), 5);
  often.tell(cancel{});
  kit.advance(100ms);
  EXPECT_EQ(often.ask(total{}).get(), 5);
}

TEST(Timer, StopsWithItsActor) {
  test_kit kit;
  auto m = kit.system().spawn<metronome>();
  m.tell(begin{10ms, true});
  kit.run_until_idle();
  m.stop();
  kit.advance(100ms);
  EXPECT_EQ(kit.system().dead_letter_count(), 0U);
}

// Cannot be copied any more after some copies, as where memory has run out.
class brittle {
 public:
  explicit brittle(int copies) : copies_left_(std::make_shared<int>(copies)) {}
  brittle(const brittle& other) : copies_left_(other.copies_left_) {
    if ((*copies_left_)-- == 0) throw std::runtime_error("no more copies");
  }
  brittle(brittle&&) = default;

 private:
  std::shared_ptr<int> copies_left_;
};

struct sole {
  std::unique_ptr<int> n;
};

class listener : public actor {
 public:
  void handle(begin b) {
    if (b.repeat) {
      every(this, b.period, brittle(2));
    } else {
      after(this, b.period, sole{std::make_unique<int>(7)});
    }
  }
  void handle(const brittle&) { ++heard_; }
  void handle(sole s) { heard_ += *s.n; }
  int handle(total) const { return heard_; }

 private:
  int heard_ = 0;
};

TEST(Timer, MessageThatCannotBeCopiedIsAFailureOfItsActor) {
  test_kit kit;
  auto l = kit.system().spawn<listener>();
  l.tell(begin{10ms, true});
  kit.advance(25ms);
  EXPECT_EQ(l.ask(total{}).get(), 2);
  kit.advance(10ms);
  kit.advance(1s);
  EXPECT_EQ(kit.system().actors().at(0).restarts, 1);
}

TEST(Timer, TakesAMessageThatCanOnlyBeMoved) {
  test_kit kit;
  auto l = kit.system().spawn<listener>();
  l.tell(begin{10ms, false});
  kit.advance(100ms);
  EXPECT_EQ(l.ask(total{}).get(), 7);
}

struct open_up {};

class gate : public actor {
 public:
  future<int> handle(add m) {
    if (!open_) return stash(this, m);
    sum_ += m.n;
    return make_ready_future(sum_);
  }
  void handle(open_up) {
    open_ = true;
    unstash_all();
  }

 private:
  bool open_ = false;
  int sum_ = 0;
};

TEST(Stash, KeepsOrderAndAnswersLater) {
  test_kit kit;
  auto g = kit.system().spawn<gate>();
  auto one = g.ask(add{1});
  auto two = g.ask(add{2});
  kit.run_until_idle();
  EXPECT_FALSE(one.ready());
  g.tell(open_up{});
  auto three = g.ask(add{3});
  kit.run_until_idle();
  EXPECT_EQ(one.get(), 1);
  EXPECT_EQ(two.get(), 3);
  EXPECT_EQ(three.get(), 6);
}

TEST(Stash, IsBoundedAndAnsweredWhenTheActorStops) {
  test_kit kit;
  auto g = kit.system().spawn<gate>(spawn_options{.stash_capacity = 1});
  auto kept = g.ask(add{1});
  auto refused = g.ask(add{2});
  kit.run_until_idle();
  EXPECT_EQ(refused.get_result().error().code, errc::mailbox_full);
  g.stop();
  kit.run_until_idle();
  EXPECT_EQ(kept.get_result().error().code, errc::actor_stopped);
}

TEST(Timers, WhoseThreadCannotBeStartedSaySo) {
  if (test::under_sanitizers) GTEST_SKIP() << "their address space is their own";
  troupe::system before;
  const auto c = before.spawn<counter>();
  const auto says_so = [&] {
    start_all_threads_there_are();
    promise<int> never;
    const auto late = never.get_future().timeout(1h).get_result();
    const auto asked = c.ask(total{}, {.timeout = 1h}).get_result();
    const bool both = !late && late.error().code == errc::system_error && !asked &&
                      asked.error().code == errc::system_error;
    const auto none = code_of_failure([] { const troupe::system system({.threads = 1}); });
    ::_exit(both && none == errc::system_error ? 0 : 1);
  };
  EXPECT_EXIT(says_so(), ::testing::ExitedWithCode(0),
              "pthread_create.*\n.*the thread that rings all timers cannot be started");
}

TEST(Timers, RingInAForkedProcessWhateverThoseOfTheFirstOneDo) {
  if (test::under_sanitizers) GTEST_SKIP() << "they do not go on after a fork";
  const troupe::system first;
  const auto timers = first.timers();
  std::jthread busy([&](const std::stop_token& enough) {
    while (!enough.stop_requested())
      timers->cancel(timers->add(timers->now() + 1h, [] {}));
  });
  const auto rings = [] {
    promise<int> never;
    const auto late = never.get_future().timeout(1h);
    for (int i = 0; i < 10; ++i) {
      promise<int> none;
      if (!none.get_future().timeout(1ms).wait_for(5s)) ::_exit(1);
    }
    ::_exit(0);
  };
  for (int i = 0; i < 20; ++i)
    EXPECT_EXIT(rings(), ::testing::ExitedWithCode(0), "");
}

TEST(Timers, TheFirstAfterAnIdleTimeRings) {
  for (int i = 0; i < 5; ++i) {
    promise<int> never;
    ASSERT_TRUE(never.get_future().timeout(1ms).wait_for(20s));
    std::this_thread::sleep_for(5ms);  // meanwhile their thread goes to sleep for good
  }
}

// On the thread of the timers it would wait for ever.
TEST(Timers, RingWhileTheContinuationOfOneWaitsForAnother) {
  promise<int> never;
  promise<int> neither;
  auto later = neither.get_future().timeout(20ms);
  const auto first = never.get_future().timeout(1ms).then(
      [&](const result<int>&) { return later.get_result().error().code; });
  ASSERT_TRUE(first.wait_for(20s));
}

// So would one for what the continuation of another brings about.
TEST(Timers, ContinueOnAnotherThreadWhileTheContinuationOfOneWaits) {
  promise<int> never;
  promise<int> neither;
  promise<void> said;
  auto waits = never.get_future().timeout(1ms).then(
      [heard = said.get_future()](const result<int>&) mutable { heard.get(); });
  auto says =
      neither.get_future().timeout(20ms).then([&](const result<int>&) { said.set_value(); });
  ASSERT_TRUE(waits.wait_for(20s));
  ASSERT_TRUE(says.wait_for(20s));
}

TEST(Timers, ContinueWhereNoThreadCanBeStarted) {
  if (test::under_sanitizers) GTEST_SKIP() << "their address space is their own";
  const auto runs = [] {
    timer_service::of_process()->start();
    start_all_threads_there_are();
    promise<int> never;
    const auto late = never.get_future().timeout(1ms).then([](const result<int>&) {});
    ::_exit(late.wait_for(20s) ? 0 : 1);
  };
  EXPECT_EXIT(runs(), ::testing::ExitedWithCode(0), "");
}

class fails_once final : public actor {
 public:
  void handle(begin) { throw failure(error{.code = errc::device_fault}); }
  int handle(total) {
    (void)after(this, 1h, tick{});
    return 1;
  }
  void handle(tick) {}
};

TEST(Timers, OfASystemNeedNoThreadLater) {
  if (test::under_sanitizers) GTEST_SKIP() << "their address space is their own";
  const auto runs = [] {
    {
      troupe::system system({.threads = 1});
      start_all_threads_there_are();
      const auto a = system.spawn<fails_once>();
      a.tell(begin{});  // its restart waits for a moment
      if (a.ask(total{}, {.timeout = 1h}).get() != 1) ::_exit(1);
    }
    ::_exit(0);
  };
  EXPECT_EXIT(runs(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace troupe
