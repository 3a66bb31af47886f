// Failures without the program's decision: the fate of the actor, and the reports.

#include "supervised.hpp"

#include <troupe/core/log.hpp>
#include <troupe/core/system.hpp>
#include <troupe/core/task.hpp>
#include <troupe/testing/test_kit.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace troupe {
namespace {

using namespace supervised;
using testing::test_kit;
using lines = std::vector<std::string>;

// Each entry as "level source: event: code".
system_config logging(log to, system_config config = {}) {
  config.log = [to = std::move(to)](const log_entry& e) {
    to->push_back(std::string(e.level == log_level::error ? "error " : "warning ") +
                  std::string(e.source) + ": " + std::string(e.event) + ": " +
                  std::string(to_string(e.reason.code)));
  };
  return config;
}

struct ask_device {
  future<int> answer;
};
class server final : public actor {
 public:
  task<int> handle(ask_device m) { co_return co_await m.answer; }
  int handle(poke) { return ++pokes_; }

 private:
  int pokes_ = 0;
};

TEST(Failures, ARefusedRequestInAHandlerLeavesAnActorThatAnswers) {
  auto told = new_log();
  test_kit kit(0, logging(told));
  auto s = kit.system().spawn<server>({.name = "server"});
  auto refused = s.ask(ask_device{
      make_failed_future<int>({.code = errc::shape_mismatch, .message = "a is [2, 3]"})});
  auto next = s.ask(poke{});
  kit.advance(1s);
  EXPECT_EQ(refused.get_result().error().code, errc::shape_mismatch);
  ASSERT_TRUE(next.ready());
  EXPECT_EQ(next.get(), 1);
  EXPECT_EQ(*told, lines{"warning /server: failed, and is restarted: shape_mismatch"});
}

TEST(Failures, BeyondTheBudgetTheEndIsToldAsAnError) {
  auto told = new_log();
  test_kit kit(0, logging(told));
  auto c = kit.system().spawn<child>({.name = "c"}, new_log());
  for (int i = 0; i < 4; ++i) {
    c.tell(raise{errc::numerical});
    kit.advance(1s);
  }
  EXPECT_TRUE(c.stopped());
  ASSERT_EQ(told->size(), 4u);
  EXPECT_EQ(told->back(),
            "error /c: failed, and is stopped: its 3 restarts within 60 s are spent: numerical");
}

TEST(Failures, ADeciderOfTheProgramsOwnIsNotReportedUnlessItsBudgetIsSpent) {
  auto told = new_log();
  test_kit kit(0, logging(told, deciding(&always_restart, {.restarts = 1})));
  auto c = kit.system().spawn<child>({.name = "c"}, new_log());
  c.tell(raise{errc::numerical});
  kit.run_until_idle();
  EXPECT_TRUE(told->empty());
  c.tell(raise{errc::numerical});
  kit.run_until_idle();
  EXPECT_EQ(*told, lines{"error /c: failed, and is stopped: its 1 restarts within 60 s are spent: "
                         "numerical"});
}

TEST(Failures, WhatIsEscalatedToTheRootIsReportedWhereNobodyDecidesThere) {
  auto told = new_log();
  test_kit kit(0, logging(told, deciding(&always_escalate)));
  auto c = kit.system().spawn<child>({.name = "c"}, new_log());
  c.tell(raise{errc::numerical});
  kit.run_until_idle();
  EXPECT_EQ(*told, lines{"error /c: failed, and is stopped: numerical"});

  auto decided = new_log();
  system_config config = logging(decided, deciding(&always_escalate));
  config.on_escalation = &always_stop;
  test_kit other(0, config);
  other.system().spawn<child>(new_log()).tell(raise{errc::numerical});
  other.run_until_idle();
  EXPECT_TRUE(decided->empty());
}

TEST(Failures, WithoutAHookEachIsOnStandardErrorOnce) {
  ::testing::internal::CaptureStderr();
  {
    test_kit kit;
    auto c = kit.system().spawn<child>({.name = "c"}, new_log());
    c.tell(raise{errc::numerical});
    kit.advance(1s);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "troupe: warning: /c failed, and is restarted: numerical\n");
}

TEST(Failures, AHookThatThrowsHarmsNobody) {
  system_config config;
  config.log = [](const log_entry&) { throw std::runtime_error("no disk"); };
  test_kit kit(0, config);
  auto c = kit.system().spawn<child>(new_log());
  c.tell(raise{errc::numerical});
  kit.advance(1s);
  EXPECT_FALSE(c.stopped());
}

TEST(Failures, ANullDeciderIsTheDefault) {
  auto told = new_log();
  test_kit kit(0, logging(told, deciding(nullptr)));
  auto c = kit.system().spawn<child>(new_log());
  c.tell(raise{errc::numerical});
  kit.run_until_idle();
  EXPECT_FALSE(c.stopped());
  EXPECT_EQ(told->size(), 1u);
}

// Consequences of a failure -----------------------------------------------------------------------

struct later {};
// Keeps its promises until it ends.
class procrastinator final : public actor {
 public:
  future<int> handle(later) { return promises_.emplace_back().get_future(); }
  void handle(raise r) { throw failure(error{.code = r.code, .message = "worn out"}); }

 private:
  std::vector<promise<int>> promises_;
};

TEST(Causes, AReplyThatIsDroppedWithItsActorSaysWhatTheActorFailedWith) {
  test_kit kit(0, deciding(&always_restart));
  auto p = kit.system().spawn<procrastinator>({.name = "p"});
  auto reply = p.ask(later{});
  p.tell(raise{errc::numerical});
  kit.run_until_idle();
  const error e = reply.get_result().error();
  EXPECT_EQ(e.code, errc::no_reply);
  EXPECT_EQ(e.message, "the actor /p ended before it replied");
  ASSERT_NE(e.cause, nullptr);
  EXPECT_EQ(e.cause->code, errc::numerical);
  EXPECT_EQ(e.to_string(),
            "no_reply\n  the actor /p ended before it replied\ncaused by numerical\n  worn out");
}

TEST(Causes, AnActorThatHasStoppedSaysWhy) {
  test_kit kit(0, deciding(&always_stop));
  auto p = kit.system().spawn<procrastinator>();
  auto dropped = p.ask(later{});
  p.tell(raise{errc::numerical});
  auto waiting = p.ask(later{});
  auto end = p.when_terminated();
  kit.run_until_idle();
  for (const error& e : {waiting.get_result().error(), p.ask(later{}).get_result().error()}) {
    EXPECT_EQ(e.code, errc::actor_stopped);
    ASSERT_NE(e.cause, nullptr);
    EXPECT_EQ(e.cause->code, errc::numerical);
  }
  EXPECT_EQ(dropped.get_result().error().cause->code, errc::numerical);
  EXPECT_EQ(end.get().reason.value().code, errc::numerical);
}

TEST(Causes, ThereIsNoneWhereTheActorWasToldToStop) {
  test_kit kit;
  auto p = kit.system().spawn<procrastinator>();
  auto dropped = p.ask(later{});
  kit.run_until_idle();
  p.stop();
  kit.run_until_idle();
  EXPECT_EQ(dropped.get_result().error().code, errc::no_reply);
  EXPECT_EQ(p.ask(later{}).get_result().error().cause, nullptr);
}

// Fails with what the one before it says, so that each end is caused by another.
struct pass_on {};
class link final : public actor {
 public:
  explicit link(any_actor_ref next) : next_(std::move(next)) {}
  future<int> handle(pass_on) { throw failure(error{.code = errc::numerical, .message = "first"}); }
  task<void> handle(poke) { co_await next_.as<link>().ask(pass_on{}); }

 private:
  any_actor_ref next_;
};

TEST(Causes, AChainIsBoundedAndKeepsItsOrigin) {
  test_kit kit(0, deciding(&always_stop));
  auto last = kit.system().spawn<link>(any_actor_ref());
  last.tell(pass_on{});
  kit.run_until_idle();
  for (int i = 0; i < 100; ++i) {
    auto next = kit.system().spawn<link>(last);
    next.tell(poke{});
    kit.run_until_idle();
    ASSERT_TRUE(next.stopped());
    last = next;
  }
  const error e = last.ask(poke{}).get_result().error();
  int causes = 0;
  const error* origin = &e;
  for (; origin->cause != nullptr; origin = origin->cause.get())
    ++causes;
  EXPECT_LE(causes, 8);
  EXPECT_EQ(origin->message, "first");
}

}  // namespace
}  // namespace troupe
