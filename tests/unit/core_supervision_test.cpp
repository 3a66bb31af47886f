#include <troupe/testing/test_kit.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::test_kit;
using log = std::shared_ptr<std::vector<std::string>>;

log new_log() { return std::make_shared<std::vector<std::string>>(); }

struct poke {};
struct raise {
  errc code;
};
struct count {};

// Writes down its life; fails on demand.
class child : public actor {
 public:
  explicit child(log l, std::string name = "c") : log_(std::move(l)), name_(std::move(name)) {}
  void pre_start() override { log_->push_back(name_ + " start"); }
  void post_stop() noexcept override { log_->push_back(name_ + " stop"); }

  int handle(poke) { return ++pokes_; }
  int handle(raise r) { throw failure(error{.code = r.code}); }

 private:
  log log_;
  std::string name_;
  int pokes_ = 0;
};

system_config deciding(directive (*decider)(const error&) noexcept, restart_budget budget = {},
                       backoff wait = {.initial = 0ns}) {
  return {.supervision = {.decider = decider, .budget = budget, .backoff = wait}};
}

directive always_restart(const error&) noexcept { return directive::restart; }
directive always_resume(const error&) noexcept { return directive::resume; }
directive always_stop(const error&) noexcept { return directive::stop; }
directive always_escalate(const error&) noexcept { return directive::escalate; }

TEST(Supervision, DefaultDeciderFollowsTheKindOfError) {
  EXPECT_EQ(default_decider({.code = errc::device_fault}), directive::restart);
  EXPECT_EQ(default_decider({.code = errc::out_of_memory}), directive::resume);
  EXPECT_EQ(default_decider({.code = errc::device_condemned}), directive::stop);
  EXPECT_EQ(default_decider({.code = errc::handler_failed}), directive::escalate);
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

// Has three children and forwards by position.
struct to_child {
  std::size_t index;
  errc code;
};
struct poke_child {
  std::size_t index;
};
class parent : public actor {
 public:
  parent(log l, supervision s) : log_(std::move(l)), supervision_(s) {}
  void pre_start() override {
    log_->emplace_back("parent start");
    for (const char* name : {"a", "b", "c"})
      children_.push_back(spawn<child>(log_, name));
  }
  void handle(to_child m) { children_[m.index].tell(raise{m.code}); }
  future<int> handle(poke_child m) { return children_[m.index].ask(poke{}); }

 protected:
  supervision supervise() const override { return supervision_; }

 private:
  log log_;
  supervision supervision_;
  std::vector<actor_ref<child>> children_;
};

std::vector<std::string> after_failure_of_b(strategy how) {
  test_kit kit;
  auto l = new_log();
  auto p = kit.system().spawn<parent>(
      l, supervision{.strategy = how, .decider = &always_restart, .backoff = {.initial = 0ns}});
  kit.run_until_idle();
  l->clear();
  p.tell(to_child{1, errc::numerical});
  kit.run_until_idle();
  auto seen = *l;
  std::sort(seen.begin(), seen.end());
  return seen;
}

TEST(Supervision, OneForOneRestartsOnlyTheFailedChild) {
  EXPECT_EQ(after_failure_of_b(strategy::one_for_one),
            (std::vector<std::string>{"b start", "b stop"}));
}

TEST(Supervision, RestForOneRestartsTheFailedChildAndThoseAfterIt) {
  EXPECT_EQ(after_failure_of_b(strategy::rest_for_one),
            (std::vector<std::string>{"b start", "b stop", "c start", "c stop"}));
}

TEST(Supervision, OneForAllRestartsAllChildren) {
  EXPECT_EQ(
      after_failure_of_b(strategy::one_for_all),
      (std::vector<std::string>{"a start", "a stop", "b start", "b stop", "c start", "c stop"}));
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
