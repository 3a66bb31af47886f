#include <troupe/core/future_combine.hpp>
#include <troupe/testing/test_kit.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::test_kit;

struct add {
  int n;
};
struct total {};
struct parcel {
  std::unique_ptr<int> content;
};
struct divide {
  int by;
};
struct delayed {
  future<int> source;
};

class counter : public actor {
 public:
  explicit counter(int start = 0) : sum_(start) {}
  void handle(add m) { sum_ += m.n; }
  int handle(total) const { return sum_; }
  std::unique_ptr<int> handle(parcel p) { return std::move(p.content); }
  result<int> handle(divide d) {
    if (d.by == 0) return error{.code = errc::invalid_argument, .message = "by zero"};
    return sum_ / d.by;
  }
  future<int> handle(delayed d) { return std::move(d.source); }

 private:
  int sum_;
};

static_assert(handles<counter, add> && !handles<counter, std::string>);
static_assert(
    std::is_same_v<decltype(std::declval<actor_ref<counter>>().ask(divide{1})), future<int>>);

TEST(Actor, AnswersAnAskWithWhatItsHandlerReturns) {
  test_kit kit;
  auto c = kit.system().spawn<counter>(10);
  EXPECT_TRUE(c.tell(add{2}));
  EXPECT_EQ(c.ask(total{}).get(), 12);
  EXPECT_EQ(c.ask(divide{4}).get(), 3);
  EXPECT_EQ(c.ask(divide{0}).get_result().error().code, errc::invalid_argument);
}

TEST(Actor, MovesMessagesAndRepliesThatCannotBeCopied) {
  test_kit kit;
  auto c = kit.system().spawn<counter>();
  EXPECT_EQ(*c.ask(parcel{std::make_unique<int>(5)}).get(), 5);
}

TEST(Actor, AFutureReplyDoesNotHoldUpTheNextMessage) {
  test_kit kit;
  auto c = kit.system().spawn<counter>(1);
  promise<int> source;
  auto slow = c.ask(delayed{source.get_future()});
  auto quick = c.ask(total{});
  kit.run_until_idle();
  EXPECT_TRUE(quick.ready());
  EXPECT_FALSE(slow.ready());
  source.set_value(9);
  EXPECT_EQ(slow.get(), 9);
}

struct refuse_to_promise {};
class unwilling : public actor {
 public:
  future<int> handle(refuse_to_promise) { throw failure(error{.code = errc::numerical}); }
};

TEST(Actor, AHandlerThatThrowsInsteadOfReturningAFutureAnswersWithItsError) {
  test_kit kit;
  auto answer = kit.system().spawn<unwilling>().ask(refuse_to_promise{});
  kit.run_until_idle();
  EXPECT_EQ(answer.get_result().error().code, errc::numerical);
}

TEST(Actor, AFailedReplyValueIsNoFailureOfTheActor) {
  test_kit kit;
  auto c = kit.system().spawn<counter>(3);
  (void)c.ask(divide{0}).get_result();
  EXPECT_EQ(c.ask(total{}).get(), 3);
}

TEST(Actor, IsSpawnedFromAFactoryWhenItsArgumentsCannotBeCopied) {
  test_kit kit;
  auto c = kit.system().spawn_from<counter>(
      [seed = std::make_unique<int>(8)] { return std::make_unique<counter>(*seed); });
  EXPECT_EQ(c.ask(total{}).get(), 8);
}

TEST(Actor, HasAPathAndAnIdOfItsOwn) {
  test_kit kit;
  auto a = kit.system().spawn<counter>(spawn_options{.name = "tally"});
  auto b = kit.system().spawn<counter>();
  EXPECT_EQ(a.path(), "/tally");
  EXPECT_NE(a.id(), b.id());
  EXPECT_FALSE(a == b);
}

class forgetful : public actor {
 public:
  future<int> handle(total) {
    promise<int> lost;
    return lost.get_future();
  }
};

TEST(Ask, GetsNoReplyWhenTheHandlerDropsItsPromise) {
  test_kit kit;
  auto f = kit.system().spawn<forgetful>();
  EXPECT_EQ(f.ask(total{}).get_result().error().code, errc::no_reply);
}

TEST(Ask, TimesOutByTheSystemsClockAndTheWorkGoesOn) {
  test_kit kit;
  auto c = kit.system().spawn<counter>();
  promise<int> source;
  auto limited = c.ask(delayed{source.get_future()}, {.timeout = 50ms});
  kit.advance(49ms);
  EXPECT_FALSE(limited.ready());
  kit.advance(1ms);
  EXPECT_EQ(limited.get_result().error().code, errc::timed_out);
  source.set_value(1);
}

TEST(Ask, IsCancelledByItsStopToken) {
  test_kit kit;
  auto c = kit.system().spawn<counter>();
  std::stop_source stop;
  promise<int> source;
  auto reply = c.ask(delayed{source.get_future()}, {.stop = stop.get_token()});
  kit.run_until_idle();
  stop.request_stop();
  EXPECT_EQ(reply.get_result().error().code, errc::cancelled);
  auto answered = c.ask(total{}, {.timeout = 1s, .stop = std::stop_source().get_token()});
  EXPECT_EQ(answered.get(), 0);
}

TEST(Mailbox, RejectsWithATypedErrorWhenTheCountIsFull) {
  test_kit kit;
  auto c = kit.system().spawn<counter>(
      spawn_options{.mailbox = {.capacity = 2, .when_full = overflow::reject}});
  auto one = c.ask(total{});
  auto two = c.ask(total{});
  EXPECT_EQ(c.ask(total{}).get_result().error().code, errc::mailbox_full);
  EXPECT_FALSE(c.tell(add{1}));
  kit.run_until_idle();
  EXPECT_TRUE(one.ready() && two.ready());
  EXPECT_TRUE(c.tell(add{1}));
}

struct bulky {
  std::int64_t size;
  std::int64_t mailbox_bytes() const { return size; }
};
class warehouse : public actor {
 public:
  void handle(bulky b) { stored_ += b.size; }
  std::int64_t handle(total) const { return stored_; }

 private:
  std::int64_t stored_ = 0;
};

TEST(Mailbox, RejectsWithATypedErrorWhenBytesAreFull) {
  test_kit kit;
  auto w = kit.system().spawn<warehouse>(
      spawn_options{.mailbox = {.capacity_bytes = 100, .when_full = overflow::reject}});
  EXPECT_TRUE(w.tell(bulky{60}));
  EXPECT_FALSE(w.tell(bulky{60}));
  EXPECT_TRUE(w.tell(bulky{40}));
  kit.run_until_idle();
  EXPECT_EQ(w.ask(total{}).get(), 100);
}

TEST(Mailbox, DropsTheOldestAndAnswersIt) {
  test_kit kit;
  auto c = kit.system().spawn<counter>(
      spawn_options{.mailbox = {.capacity = 2, .when_full = overflow::drop_oldest}});
  auto oldest = c.ask(total{});
  EXPECT_TRUE(c.tell(add{1}));
  EXPECT_TRUE(c.tell(add{2}));
  auto newest = c.ask(total{});
  EXPECT_EQ(oldest.get_result().error().code, errc::mailbox_full);
  kit.run_until_idle();
  EXPECT_EQ(newest.get(), 2);
}

TEST(Mailbox, ASenderThatWaitsForRoomLosesNothing) {
  test_kit kit;
  auto c = kit.system().spawn<counter>(spawn_options{.mailbox = {.capacity = 4}});
  for (int i = 0; i < 100; ++i)
    EXPECT_TRUE(c.tell(add{1}));
  EXPECT_EQ(c.ask(total{}).get(), 100);
}

struct end {};
class short_lived : public actor {
 public:
  void handle(add) {}
  void handle(end) { stop(); }
};

TEST(Mailbox, ASenderWhoseReceiverStopsWhileItWaitsIsToldSo) {
  test_kit kit;
  auto receiver = kit.system().spawn<short_lived>(spawn_options{.mailbox = {.capacity = 1}});
  EXPECT_TRUE(receiver.tell(end{}));
  EXPECT_FALSE(receiver.tell(add{1}));  // waits, which has the receiver handle its end
  EXPECT_EQ(kit.system().dead_letter_count(), 1u);
}

TEST(Mailbox, RefusesAMessageLargerThanItselfInsteadOfWaitingForEver) {
  test_kit kit;
  auto w = kit.system().spawn<warehouse>(spawn_options{.mailbox = {.capacity_bytes = 10}});
  EXPECT_FALSE(w.tell(bulky{11}));
}

TEST(Mailbox, DropsAsManyOfTheOldestAsTheBytesOfTheNewestTake) {
  test_kit kit;
  auto w = kit.system().spawn<warehouse>(
      spawn_options{.mailbox = {.capacity_bytes = 100, .when_full = overflow::drop_oldest}});
  for (const std::int64_t size : {10, 20, 30, 40}) {
    EXPECT_TRUE(w.tell(bulky{size}));
  }
  EXPECT_TRUE(w.tell(bulky{25}));  // for 10 and 20
  EXPECT_EQ(kit.system().dead_letter_count(), 2u);
  EXPECT_FALSE(w.tell(bulky{101}));
  kit.run_until_idle();
  EXPECT_EQ(w.ask(total{}).get(), 30 + 40 + 25);
}

TEST(Mailbox, ASenderThatWaitsForBytesLosesNothingAndNeverHasMoreInIt) {
  system running;
  auto w = running.spawn<warehouse>(spawn_options{.mailbox = {.capacity_bytes = 100}});
  for (int i = 0; i < 1000; ++i)
    ASSERT_TRUE(w.tell(bulky{i % 2 == 0 ? 60 : 41}));
  EXPECT_FALSE(w.tell(bulky{101}));
  EXPECT_EQ(w.ask(total{}).get(), 500 * (60 + 41));
}

struct whose_thread {};
class localised : public actor {
 public:
  void pre_start() override { started_on_ = std::this_thread::get_id(); }
  std::vector<std::thread::id> handle(whose_thread) const {
    return {started_on_, std::this_thread::get_id()};
  }

 private:
  std::thread::id started_on_;
};

TEST(Pinned, AnActorRunsOnAThreadOfItsOwnAllItsLife) {
  system running;
  const spawn_options pinned{.run_by = dispatcher::pinned};
  auto a = running.spawn<localised>(pinned);
  auto b = running.spawn<localised>(pinned);
  auto pooled = running.spawn<localised>();
  std::set<std::thread::id> of_a;
  std::set<std::thread::id> of_others{std::this_thread::get_id()};
  for (int i = 0; i < 200; ++i) {
    for (const std::thread::id id : a.ask(whose_thread{}).get())
      of_a.insert(id);
    for (const auto& other : {b, pooled}) {
      for (const std::thread::id id : other.ask(whose_thread{}).get())
        of_others.insert(id);
    }
  }
  ASSERT_EQ(of_a.size(), 1u);
  EXPECT_FALSE(of_others.contains(*of_a.begin())) << "nobody else runs there";
}

TEST(DeadLetters, NameTypeTargetAndReason) {
  test_kit kit;
  std::vector<std::string> seen;
  kit.system().on_dead_letter([&](const dead_letter& d) {
    seen.push_back(std::string(d.message) + ' ' + std::string(d.path) + ' ' +
                   std::string(to_string(d.reason)));
  });
  auto c = kit.system().spawn<counter>(
      spawn_options{.name = "c", .mailbox = {.capacity = 1, .when_full = overflow::reject}});
  c.tell(add{1});
  c.tell(add{2});
  c.stop();
  kit.run_until_idle();
  EXPECT_FALSE(c.tell(add{3}));
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_NE(seen[0].find("add /c mailbox_full"), std::string::npos) << seen[0];
  EXPECT_NE(seen[1].find("add /c actor_stopped"), std::string::npos) << seen[1];
  EXPECT_EQ(kit.system().dead_letter_count(), 3U);
}

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

TEST(Stop, AnswersWhatWaitsAndStopAfterMailboxHandlesItFirst) {
  test_kit kit;
  auto now = kit.system().spawn<counter>();
  auto later = kit.system().spawn<counter>();
  kit.run_until_idle();
  auto lost = now.ask(total{});
  now.stop();
  auto kept = later.ask(total{});
  later.stop_after_mailbox();
  auto late = later.ask(total{});
  kit.run_until_idle();
  EXPECT_EQ(lost.get_result().error().code, errc::actor_stopped);
  EXPECT_EQ(kept.get(), 0);
  EXPECT_EQ(late.get_result().error().code, errc::actor_stopped);
}

class stillborn : public actor {
 public:
  explicit stillborn(std::shared_ptr<int> handled) : handled_(std::move(handled)) {}
  void pre_start() override { stop(); }
  void handle(add) { ++*handled_; }

 private:
  std::shared_ptr<int> handled_;
};

TEST(Stop, AnActorThatStopsItselfAsItStartsHandlesNothing) {
  test_kit kit;
  auto handled = std::make_shared<int>(0);
  auto a = kit.system().spawn<stillborn>(handled);
  auto answer = a.ask(add{1});
  kit.run_until_idle();
  EXPECT_EQ(answer.get_result().error().code, errc::actor_stopped);
  EXPECT_EQ(*handled, 0);
}

TEST(Stop, AnActorThatIsSpawnedAfterShutdownHasStopped) {
  test_kit kit;
  auto down = kit.system().shutdown();
  kit.run_until_idle();
  auto late = kit.system().spawn<counter>();
  EXPECT_TRUE(late.stopped());
  EXPECT_EQ(late.when_terminated().get().id, late.id());
  EXPECT_FALSE(late.tell(add{1}));
  late = {};  // nobody else keeps it, so nothing may be left to do
  EXPECT_EQ(kit.run_until_idle(), 0u);
}

TEST(FutureCombine, WhenAllKeepsOrderAndFailsWithTheFirstError) {
  promise<int> a;
  promise<int> b;
  std::vector<future<int>> both;
  both.push_back(a.get_future());
  both.push_back(b.get_future());
  auto all = when_all(std::move(both));
  b.set_value(2);
  EXPECT_FALSE(all.ready());
  a.set_value(1);
  EXPECT_EQ(all.get(), (std::vector<int>{1, 2}));
  EXPECT_TRUE(when_all(std::vector<future<void>>{}).ready());
  auto mixed = when_all(make_ready_future(1), make_failed_future<void>({.code = errc::aliasing}));
  EXPECT_EQ(mixed.get_result().error().code, errc::aliasing);
}

TEST(FutureCombine, WhenAnyTakesTheFirst) {
  promise<int> a;
  promise<int> b;
  std::vector<future<int>> both;
  both.push_back(a.get_future());
  both.push_back(b.get_future());
  auto first = when_any(std::move(both));
  b.set_value(2);
  a.set_value(1);
  const auto winner = first.get();
  EXPECT_EQ(winner.index, 1U);
  EXPECT_EQ(winner.value, 2);
}

TEST(FutureCombine, WhenAnyTakesAnErrorAndNothingToo) {
  promise<int> never;
  std::vector<future<int>> all;
  all.push_back(never.get_future());
  all.push_back(make_failed_future<int>({.code = errc::aliasing}));
  EXPECT_EQ(when_any(std::move(all)).get_result().error().code, errc::aliasing);

  promise<void> open;
  std::vector<future<void>> nothing;
  nothing.push_back(open.get_future());
  nothing.push_back(make_ready_future());
  EXPECT_EQ(when_any(std::move(nothing)).get().index, 1U);

  EXPECT_EQ(when_any(std::vector<future<int>>{}).get_result().error().code, errc::no_reply)
      << "of none, none is first";
}

}  // namespace
}  // namespace troupe
