#include "core/actor/backoff.hpp"
#include "supervised.hpp"

#include <troupe/core/task.hpp>
#include <troupe/testing/test_kit.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace troupe {
namespace {

using namespace supervised;
using testing::test_kit;
TEST(Supervision, DefaultDeciderFollowsTheKindOfError) {
  const std::set<errc> stops{errc::poisonous,          errc::device_stopped,
                             errc::device_unavailable, errc::device_condemned,
                             errc::worker_not_found,   errc::version_mismatch,
                             errc::library_missing};
  for (auto code = errc::invalid_argument; code <= errc::system_error;
       code = static_cast<errc>(static_cast<std::uint16_t>(code) + 1)) {
    const directive expected = code == errc::out_of_memory ? directive::resume
                               : stops.contains(code)      ? directive::stop
                                                           : directive::restart;
    EXPECT_EQ(default_decider({.code = code}), expected) << to_string(code);
  }
}

TEST(Supervision, RestartKeepsTheMailboxAndTheAddressAndAnswersTheFailingMessage) {
  test_kit kit(0, deciding(&always_restart));
  auto l = new_log();
  auto c = kit.system().spawn<child>(l);
  auto before = c.ask(poke{});
  auto failing = c.ask(raise{errc::numerical});
  auto after = c.ask(poke{});
  kit.run_until_idle();
  EXPECT_EQ(before.get(), 1);
  EXPECT_EQ(failing.get_result().error().code, errc::numerical);
  EXPECT_EQ(after.get(), 1);  // a new incarnation counts from zero
  EXPECT_EQ(*l, (std::vector<std::string>{"c start", "c stop", "c start"}));
}

TEST(Supervision, ResumeKeepsTheState) {
  test_kit kit(0, deciding(&always_resume));
  auto c = kit.system().spawn<child>(new_log());
  auto one = c.ask(poke{});
  auto failing = c.ask(raise{errc::numerical});
  auto two = c.ask(poke{});
  kit.run_until_idle();
  EXPECT_EQ(two.get(), 2);
  EXPECT_FALSE(failing.get_result());
}

TEST(Supervision, StopAnswersWhatWaitsAndTellsWatchersWhy) {
  test_kit kit(0, deciding(&always_stop));
  auto c = kit.system().spawn<child>(new_log());
  auto end = c.when_terminated();
  auto failing = c.ask(raise{errc::numerical});
  auto waiting = c.ask(poke{});
  kit.run_until_idle();
  EXPECT_EQ(waiting.get_result().error().code, errc::actor_stopped);
  EXPECT_EQ(end.get().reason.value().code, errc::numerical);
  EXPECT_TRUE(c.stopped());
  EXPECT_EQ(c.ask(poke{}).get_result().error().code, errc::actor_stopped);
}

TEST(Supervision, FourFailuresWithinTheWindowMeanThreeRestartsThenStopped) {
  test_kit kit(0, deciding(&always_restart));
  auto l = new_log();
  auto c = kit.system().spawn<child>(l);
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(c.stopped());
    c.tell(raise{errc::numerical});
    kit.advance(1s);
  }
  EXPECT_TRUE(c.stopped());
  EXPECT_EQ(std::count(l->begin(), l->end(), "c start"), 4);
}

TEST(Supervision, AFailureAfterTheWindowIsRestartedAgain) {
  test_kit kit(0, deciding(&always_restart));
  auto c = kit.system().spawn<child>(new_log());
  for (int i = 0; i < 3; ++i) {
    c.tell(raise{errc::numerical});
    kit.advance(1s);
  }
  kit.advance(61s);
  c.tell(raise{errc::numerical});
  kit.advance(1s);
  EXPECT_FALSE(c.stopped());
}

TEST(Supervision, BackoffGrowsAndMessagesWaitMeanwhile) {
  test_kit kit(0, deciding(&always_restart, {},
                           {.initial = 100ms, .longest = 10s, .factor = 2, .jitter = 0}));
  auto c = kit.system().spawn<child>(new_log());
  c.tell(raise{errc::numerical});
  auto waiting = c.ask(poke{});
  kit.advance(99ms);
  EXPECT_FALSE(waiting.ready());
  kit.advance(1ms);
  EXPECT_EQ(waiting.get(), 1);
  c.tell(raise{errc::numerical});
  auto longer = c.ask(poke{});
  kit.advance(199ms);
  EXPECT_FALSE(longer.ready());
  kit.advance(1ms);
  EXPECT_TRUE(longer.ready());
}

TEST(Supervision, JitterSpreadsTheBackoffWithinItsBounds) {
  std::set<std::chrono::nanoseconds> waits;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    test_kit kit(seed, deciding(&always_restart, {},
                                {.initial = 100ms, .longest = 10s, .factor = 2, .jitter = 0.2}));
    auto c = kit.system().spawn<child>(new_log());
    c.tell(raise{errc::numerical});
    auto waiting = c.ask(poke{});
    kit.advance(79ms);
    ASSERT_FALSE(waiting.ready()) << "seed " << seed;
    auto waited = 79ms;
    for (; !waiting.ready() && waited < 1s; waited += 1ms)
      kit.advance(1ms);
    ASSERT_LE(waited, 121ms) << "seed " << seed;
    waits.insert(waited);
  }
  EXPECT_GT(waits.size(), 10u) << "they are spread";
}

TEST(Supervision, TheLongestBackoffIsNotOverflowed) {
  constexpr auto forever = std::chrono::nanoseconds::max();
  test_kit kit(0, deciding(&always_restart, {},
                           {.initial = forever, .longest = forever, .factor = 2, .jitter = 0.5}));
  auto c = kit.system().spawn<child>(new_log());
  c.tell(raise{errc::numerical});
  auto waiting = c.ask(poke{});
  kit.advance(std::chrono::hours(24));
  EXPECT_FALSE(waiting.ready());
}

TEST(Supervision, ABackoffStaysWithinItsBoundsHoweverOftenItHasGrown) {
  using detail::wait_before;
  const backoff usual{.initial = 10ms, .longest = 1s, .factor = 2, .jitter = 0.5};
  EXPECT_EQ(wait_before(usual, 1, 0), 10ms);
  EXPECT_EQ(wait_before(usual, 4, 0), 80ms);
  EXPECT_EQ(wait_before(usual, 4, -1), 40ms);
  EXPECT_EQ(wait_before(usual, 4, 1), 120ms);
  for (const std::int64_t nth : {100, 5'000, 1 << 30}) {
    EXPECT_EQ(wait_before(usual, nth, 0), 1s) << nth;
    EXPECT_EQ(wait_before({.initial = 0ns, .longest = 1s}, nth, 1), 0ns) << nth;
    EXPECT_EQ(wait_before({.initial = 1ns, .longest = 0ns}, nth, 1), 0ns) << nth;
  }
}

TEST(Supervision, ActorsThatFailWhileTheSystemDrainsStillHandleTheirMailboxes) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    auto config = deciding(&always_restart);
    config.supervision.strategy = static_cast<strategy>(seed % 3);
    test_kit kit(seed, config);
    auto a = kit.system().spawn<child>(new_log(), "a");
    auto b = kit.system().spawn<child>(new_log(), "b");
    auto failing = a.ask(raise{errc::numerical});
    auto of_a = a.ask(poke{});
    auto of_b = b.ask(poke{});
    auto done = kit.system().shutdown(10s);
    kit.run_until_idle();
    ASSERT_TRUE(done.ready()) << seed;
    EXPECT_EQ(failing.get_result().error().code, errc::numerical);
    EXPECT_EQ(of_a.get(), 1);
    EXPECT_EQ(of_b.get(), 1);
  }
}

TEST(Supervision, AFailureThatWouldEscalateWhileTheParentDrainsEndsItsActorAlone) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    test_kit kit(seed, deciding(&always_stop));
    auto l = new_log();
    auto p = kit.system().spawn<parent>(
        l, supervision{.strategy = strategy::one_for_all, .decider = &always_escalate});
    kit.run_until_idle();
    p.tell(to_child{0, errc::numerical});
    auto answer = p.ask(poke_child{1});
    p.stop_after_mailbox();
    kit.run_until_idle();
    ASSERT_TRUE(p.stopped()) << seed;
    ASSERT_TRUE(answer.ready()) << seed;
  }
}

struct await_gate {
  future<int> gate;
};
class waiter : public actor {
 public:
  task<int> handle(await_gate m) { co_return co_await m.gate; }
};

TEST(Supervision, AnActorWhoseLastCoroutineFailsWhileItDrainsStops) {
  test_kit kit(0, deciding(&always_restart));
  promise<int> gate;
  auto a = kit.system().spawn<waiter>();
  auto waiting = a.ask(await_gate{gate.get_future()});
  kit.run_until_idle();
  auto done = kit.system().shutdown(10s);
  kit.run_until_idle();
  EXPECT_FALSE(done.ready());
  gate.set_error(error{.code = errc::numerical});
  kit.run_until_idle();
  EXPECT_FALSE(waiting.get_result());
  EXPECT_TRUE(done.ready());
}

TEST(Supervision, EscalateRestartsTheParentWithFreshChildren) {
  test_kit kit(0, deciding(&always_restart));
  auto l = new_log();
  auto p = kit.system().spawn<parent>(l, supervision{.decider = &always_escalate});
  kit.run_until_idle();
  l->clear();
  p.tell(to_child{0, errc::numerical});
  kit.run_until_idle();
  EXPECT_EQ(l->size(), 7U);  // three stop, the parent and three start
  EXPECT_EQ((*l)[3], "parent start");
  auto answer = p.ask(poke_child{0});
  kit.run_until_idle();
  EXPECT_EQ(answer.get(), 1);
}

TEST(Supervision, EscalateThatIsResumedResumesTheChildToo) {
  test_kit kit(0, deciding(&always_resume));
  auto p = kit.system().spawn<parent>(new_log(), supervision{.decider = &always_escalate});
  auto one = p.ask(poke_child{0});
  kit.run_until_idle();
  p.tell(to_child{0, errc::numerical});
  auto two = p.ask(poke_child{0});
  kit.run_until_idle();
  EXPECT_EQ(two.get(), 2);
}

TEST(Supervision, EscalateAtTheRootAsksTheHookAndStopsByDefault) {
  test_kit stops(0, deciding(&always_escalate));
  auto stopped = stops.system().spawn<child>(new_log());
  stopped.tell(raise{errc::numerical});
  stops.run_until_idle();
  EXPECT_TRUE(stopped.stopped());

  system_config config = deciding(&always_escalate);
  config.on_escalation = &always_restart;
  test_kit restarts(0, config);
  auto restarted = restarts.system().spawn<child>(new_log());
  restarted.tell(raise{errc::numerical});
  restarts.run_until_idle();
  EXPECT_FALSE(restarted.stopped());
}

class fails_to_start : public actor {
 public:
  explicit fails_to_start(const std::shared_ptr<int>& attempts) {
    if (++*attempts < 3) throw failure(error{.code = errc::out_of_memory});
  }
  int handle(poke) { return 1; }
};

TEST(Supervision, AFailedStartCountsAgainstTheBudgetAndTheMailboxWaits) {
  test_kit kit(0, deciding(&default_decider));
  auto attempts = std::make_shared<int>(0);
  auto a = kit.system().spawn<fails_to_start>(attempts);
  auto reply = a.ask(poke{});
  kit.run_until_idle();
  EXPECT_EQ(reply.get(), 1);
  EXPECT_EQ(*attempts, 3);
}

class throws_text : public actor {
 public:
  int handle(poke) { throw std::runtime_error("spilled the tea"); }
};

TEST(Supervision, AHandlersExceptionIsHandlerFailedWithItsText) {
  test_kit kit;
  auto a = kit.system().spawn<throws_text>();
  auto reply = a.ask(poke{}).get_result();
  EXPECT_EQ(reply.error().code, errc::handler_failed);
  EXPECT_EQ(reply.error().message, "spilled the tea");
}

class watcher : public actor {
 public:
  watcher(log l, any_actor_ref target) : log_(std::move(l)), target_(std::move(target)) {}
  void pre_start() override { watch(this, target_); }
  void handle(const terminated& t) { log_->emplace_back(t.id == target_.id() ? "gone" : "wrong"); }
  void handle(poke) { unwatch(target_); }

 private:
  log log_;
  any_actor_ref target_;
};

TEST(DeathWatch, TellsOfAStopOnceAndAtOnceWhenItHasHappened) {
  test_kit kit;
  auto l = new_log();
  auto target = kit.system().spawn<child>(new_log());
  auto early = kit.system().spawn<watcher>(l, target);
  kit.run_until_idle();
  target.stop();
  kit.run_until_idle();
  EXPECT_EQ(*l, std::vector<std::string>{"gone"});
  auto late = kit.system().spawn<watcher>(l, target);
  kit.run_until_idle();
  EXPECT_EQ(l->size(), 2U);
}

// Watches as often as it is told to.
class insistent_watcher : public watcher {
 public:
  insistent_watcher(log l, const any_actor_ref& target) : watcher(std::move(l), target) {}
  using watcher::handle;
  void handle(count) { pre_start(); }
  void handle(raise r) { throw failure(error{.code = r.code}); }
};

TEST(DeathWatch, TellsOnceHoweverOftenOneWatchesAlsoAfterARestart) {
  test_kit kit(0, deciding(&always_restart));
  auto l = new_log();
  auto target = kit.system().spawn<child>(new_log());
  auto w = kit.system().spawn<insistent_watcher>(l, target);
  w.tell(count{});
  w.tell(raise{errc::numerical});
  kit.run_until_idle();
  target.stop();
  kit.run_until_idle();
  EXPECT_EQ(*l, std::vector<std::string>{"gone"});
}

TEST(DeathWatch, UnwatchEndsHoweverManyWatches) {
  test_kit kit;
  auto l = new_log();
  auto target = kit.system().spawn<child>(new_log());
  auto w = kit.system().spawn<insistent_watcher>(l, target);
  w.tell(count{});
  w.tell(poke{});
  kit.run_until_idle();
  target.stop();
  kit.run_until_idle();
  EXPECT_TRUE(l->empty());
}

TEST(DeathWatch, UnwatchSilencesEvenANoticeOnItsWay) {
  test_kit kit;
  auto l = new_log();
  auto target = kit.system().spawn<child>(new_log());
  auto w = kit.system().spawn<watcher>(l, target);
  kit.run_until_idle();
  w.tell(poke{});
  target.stop();
  kit.run_until_idle();
  EXPECT_TRUE(l->empty());
}

}  // namespace
}  // namespace troupe
