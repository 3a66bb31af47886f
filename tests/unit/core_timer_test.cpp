// What an actor puts off: timers and its stash.

#include "counting_actor.hpp"

#include <gtest/gtest.h>

#include <chrono>

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

}  // namespace
}  // namespace troupe
