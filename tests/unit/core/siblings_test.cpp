#include "supervised.hpp"

#include <gtest/gtest.h>

#include <algorithm>

// Children that are restarted together.
namespace troupe {
namespace {

using namespace supervised;
using testing::test_kit;
using lines = std::vector<std::string>;

supervision together(strategy how, backoff wait = {.initial = 0ns}) {
  return {.strategy = how, .decider = &always_restart, .backoff = wait};
}

lines after_failure_of_b(strategy how, std::uint64_t seed) {
  test_kit kit(seed);
  auto l = new_log();
  auto p = kit.system().spawn<parent>(l, together(how));
  kit.run_until_idle();
  l->clear();
  p.tell(to_child{1, errc::numerical});
  kit.run_until_idle();
  return *l;
}

TEST(Siblings, StayAsTheyAreWithOneForOne) {
  EXPECT_EQ(after_failure_of_b(strategy::one_for_one, 0), (lines{"b stop", "b start"}));
}

TEST(Siblings, RestForOneEndsTheLaterChildrenInReverseAndThenStartsThemInOrder) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    ASSERT_EQ(after_failure_of_b(strategy::rest_for_one, seed),
              (lines{"c stop", "b stop", "b start", "c start"}))
        << seed;
  }
}

TEST(Siblings, OneForAllEndsAllChildrenInReverseAndThenStartsThemInOrder) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    ASSERT_EQ(after_failure_of_b(strategy::one_for_all, seed),
              (lines{"c stop", "b stop", "a stop", "a start", "b start", "c start"}))
        << seed;
  }
}

TEST(Siblings, EndAtOnceAndTheirMessagesWaitForTheBackoff) {
  test_kit kit;
  auto l = new_log();
  auto p = kit.system().spawn<parent>(
      l, together(strategy::one_for_all, {.initial = 100ms, .jitter = 0}));
  kit.run_until_idle();
  l->clear();
  p.tell(to_child{1, errc::numerical});
  kit.advance(99ms);
  EXPECT_EQ(*l, (lines{"c stop", "b stop", "a stop"}));
  auto waiting = p.ask(poke_child{0});
  kit.run_until_idle();
  EXPECT_FALSE(waiting.ready());
  kit.advance(1ms);
  EXPECT_EQ(waiting.get(), 1);
}

TEST(Siblings, AFailureDuringTheBackoffTakesTheEarlierSiblingsAlong) {
  test_kit kit;
  auto l = new_log();
  auto p = kit.system().spawn<parent>(
      l, together(strategy::rest_for_one, {.initial = 100ms, .jitter = 0}));
  kit.run_until_idle();
  l->clear();
  p.tell(to_child{2, errc::numerical});
  kit.advance(50ms);
  p.tell(to_child{0, errc::numerical});
  kit.advance(150ms);
  EXPECT_EQ(*l, (lines{"c stop", "b stop", "a stop"}));  // 200 ms, for it is the second failure
  kit.advance(50ms);
  EXPECT_EQ(*l, (lines{"c stop", "b stop", "a stop", "a start", "b start", "c start"}));
}

TEST(Siblings, OneThatIsSpawnedMeanwhileAndFailsLeavesNobodyBehind) {
  auto config = deciding(&always_restart, {}, {.initial = 100ms, .jitter = 0});
  config.supervision.strategy = strategy::rest_for_one;
  test_kit kit(0, config);
  auto l = new_log();
  auto a = kit.system().spawn<child>(l, "a");
  auto b = kit.system().spawn<child>(l, "b");
  kit.run_until_idle();
  l->clear();
  a.tell(raise{errc::numerical});
  kit.advance(50ms);
  auto late = kit.system().spawn<child>(l, "late");
  late.tell(raise{errc::numerical});
  kit.advance(200ms);
  EXPECT_EQ(*l, (lines{"b stop", "a stop", "late start", "late stop", "a start", "b start",
                       "late start"}));
}

TEST(Siblings, ASiblingThatIsStoppedMeanwhileIsNotStartedAgain) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    test_kit kit(seed);
    auto l = new_log();
    auto p = kit.system().spawn<parent>(l, together(strategy::one_for_all));
    kit.run_until_idle();
    l->clear();
    p.tell(to_child{0, errc::numerical});
    for (std::uint64_t steps = seed % 20; steps > 0; --steps)
      kit.step();
    p.tell(stop_child{1});
    kit.run_until_idle();
    auto answer = p.ask(poke_child{2});
    kit.run_until_idle();
    ASSERT_EQ(answer.get(), 1) << seed;
    ASSERT_EQ(std::count(l->begin(), l->end(), "b stop"),
              std::count(l->begin(), l->end(), "b start") + 1)
        << seed;
  }
}

// Fails to start as often as `failures` says, after its first start.
class fails_again : public child {
 public:
  fails_again(log l, std::string name, std::shared_ptr<int> failures)
      : child(std::move(l), std::move(name)), failures_(std::move(failures)) {}
  void post_restart(const error&) override {
    if (--*failures_ >= 0) throw failure(error{.code = errc::numerical});
    pre_start();
  }

 private:
  std::shared_ptr<int> failures_;
};

TEST(Siblings, ASiblingThatFailsToStartBeginsTheRestartAgain) {
  for (const strategy how : {strategy::one_for_all, strategy::rest_for_one}) {
    auto config = deciding(&always_restart);
    config.supervision.strategy = how;
    test_kit kit(0, config);
    auto l = new_log();
    auto a = kit.system().spawn<child>(l, "a");
    auto b = kit.system().spawn<fails_again>(l, "b", std::make_shared<int>(1));
    auto c = kit.system().spawn<child>(l, "c");
    kit.run_until_idle();
    l->clear();
    a.tell(raise{errc::numerical});
    kit.run_until_idle();
    lines expected{"c stop", "b stop", "a stop", "a start"};
    if (how == strategy::one_for_all) expected.insert(expected.end(), {"a stop", "a start"});
    expected.insert(expected.end(), {"b start", "c start"});
    EXPECT_EQ(*l, expected);
  }
}

TEST(Siblings, TheBudgetOfSiblingsEndsThemAll) {
  auto config = deciding(&always_restart);
  config.supervision.strategy = strategy::one_for_all;
  test_kit kit(0, config);
  auto l = new_log();
  auto a = kit.system().spawn<child>(l, "a");
  auto b = kit.system().spawn<fails_again>(l, "b", std::make_shared<int>(100));
  auto c = kit.system().spawn<child>(l, "c");
  a.tell(raise{errc::numerical});
  kit.run_until_idle();
  EXPECT_TRUE(a.stopped() && b.stopped() && c.stopped());
  EXPECT_EQ(std::count(l->begin(), l->end(), "a start"), 4);  // the first and three more
}

TEST(Siblings, OfARestartedSupervisorHaveABudgetOfTheirOwn) {
  test_kit kit(0, deciding(&always_restart));
  auto l = new_log();
  auto p = kit.system().spawn<parent>(l, supervision{.strategy = strategy::one_for_all,
                                                     .decider =
                                                         [](const error& e) noexcept {
                                                           return e.code == errc::numerical
                                                                      ? directive::restart
                                                                      : directive::escalate;
                                                         },
                                                     .budget = {.restarts = 1},
                                                     .backoff = {.initial = 0ns}});
  p.tell(to_child{0, errc::numerical});
  kit.run_until_idle();
  p.tell(to_child{0, errc::unsupported});
  kit.run_until_idle();
  l->clear();
  p.tell(to_child{0, errc::numerical});
  kit.run_until_idle();
  EXPECT_EQ(*l, (lines{"c stop", "b stop", "a stop", "a start", "b start", "c start"}));
}

}  // namespace
}  // namespace troupe
