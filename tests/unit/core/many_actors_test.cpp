#include "supervised.hpp"
#include "under_sanitizers.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <ctime>
#include <ostream>

// An event of one of very many actors costs no more than among few, and nothing is kept of those
// that came and went.
namespace troupe {
namespace {

using namespace supervised;
using testing::test_kit;

double seconds_of_this_thread() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct look_at {
  any_actor_ref other;
};
struct look_away {
  any_actor_ref other;
};

struct go_on {};
struct begin_timers {
  int count;
};

class plain final : public actor {
 public:
  void handle(begin_timers b) {
    for (int i = 0; i < b.count; ++i)
      (void)after(this, 1h, go_on{});
  }
  void handle(go_on) {}
  void handle(raise r) { throw failure(error{.code = r.code}); }
  void handle(const look_at& l) { watch(this, l.other); }
  void handle(const look_away& l) { unwatch(l.other); }
  void handle(const terminated&) {}
};

struct scenario {
  std::string name;
  system_config config;
  void (*happens)(test_kit& kit, std::vector<actor_ref<plain>>& children);
};
std::ostream& operator<<(std::ostream& out, const scenario& s) { return out << s.name; }

double cost_of_each(const scenario& what, int children) {
  test_kit kit(0, what.config);
  std::vector<actor_ref<plain>> all;
  all.reserve(static_cast<std::size_t>(children));
  for (int i = 0; i < children; ++i)
    all.push_back(kit.system().spawn<plain>());
  kit.run_until_idle();
  const double begun = seconds_of_this_thread();
  what.happens(kit, all);
  return (seconds_of_this_thread() - begun) / children;
}

class ManyActors : public ::testing::TestWithParam<scenario> {};

// Sixteen times as many were up to sixteen times as dear each; the caches account for a few times.
TEST_P(ManyActors, CostNoMoreEachThanFew) {
  constexpr int few = 2'000;
  constexpr int many = 64'000;
  const double of_few = cost_of_each(GetParam(), few);
  const double of_many = cost_of_each(GetParam(), many);
  EXPECT_LT(of_many, 6 * of_few) << 1e6 * of_few << " us each of few, " << 1e6 * of_many
                                 << " us each of many";
}

void end_one_after_another(test_kit& kit, std::vector<actor_ref<plain>>& children) {
  for (auto& one : children) {
    one.stop();
    kit.run_until_idle();
  }
}

void fail_one_after_another(test_kit& kit, std::vector<actor_ref<plain>>& children) {
  for (auto& one : children) {
    one.tell(raise{errc::numerical});
    kit.run_until_idle();
  }
  kit.advance(1s);
}

void fail_all_together(test_kit& kit, std::vector<actor_ref<plain>>& children) {
  for (auto& one : children)
    one.tell(raise{errc::numerical});
  kit.run_until_idle();
}

void end_while_they_are_restarted(test_kit& kit, std::vector<actor_ref<plain>>& children) {
  children.front().tell(raise{errc::numerical});
  kit.run_until_idle();
  end_one_after_another(kit, children);
}

void are_watched_by_one(test_kit& kit, std::vector<actor_ref<plain>>& children) {
  auto watcher = kit.system().spawn<plain>();
  for (auto& one : children)
    watcher.ask(look_at{one}).get();
  end_one_after_another(kit, children);
}

void watch_one(test_kit&, std::vector<actor_ref<plain>>& children) {
  for (auto& one : children)
    one.ask(look_at{children.front()}).get();
  for (auto& one : children)
    one.ask(look_away{children.front()}).get();
}

// As many as there are actors.
void has_timers(test_kit& kit, std::vector<actor_ref<plain>>& children) {
  children.front().tell(begin_timers{static_cast<int>(children.size())});
  kit.run_until_idle();
}

system_config restarting(strategy how, backoff wait) {
  return {.supervision = {.strategy = how, .decider = &always_restart, .backoff = wait}};
}

INSTANTIATE_TEST_SUITE_P(
    All, ManyActors,
    ::testing::Values(scenario{"End", {}, &end_one_after_another},
                      scenario{"AreRestarted",
                               restarting(strategy::one_for_one, {.initial = 100ms}),
                               &fail_one_after_another},
                      scenario{"FailTogether", restarting(strategy::one_for_all, {.initial = 0ns}),
                               &fail_all_together},
                      scenario{"EndWhileTheyAreRestarted",
                               restarting(strategy::one_for_all, {.initial = 1h, .longest = 1h}),
                               &end_while_they_are_restarted},
                      scenario{"AreWatched", {}, &are_watched_by_one},
                      scenario{"Watch", {}, &watch_one}, scenario{"OrTimers", {}, &has_timers}),
    [](const auto& one) { return one.param.name; });

// All in one thread, and so in the arena that is told of.
std::size_t bytes_in_use() { return ::mallinfo2().uordblks; }

template <class F>
void expect_nothing_kept_of(F one) {
  if (test::under_sanitizers) GTEST_SKIP() << "their memory is their own";
  constexpr std::size_t times = 2'000;
  for (std::size_t i = 0; i < times; ++i)
    one();  // fills the pools
  const auto before = bytes_in_use();
  for (std::size_t i = 0; i < times; ++i)
    one();
  EXPECT_LT(bytes_in_use(), before + 10 * times);
}

TEST(DeathWatch, KeepsNothingOfAWatcherThatHasStopped) {
  test_kit kit;
  auto service = kit.system().spawn<plain>();
  expect_nothing_kept_of([&] {
    auto session = kit.system().spawn<plain>();
    session.ask(look_at{service}).get();
    session.stop();
    kit.run_until_idle();
  });
}

TEST(DeathWatch, KeepsNothingOfTheWatchedWhoHaveStopped) {
  test_kit kit;
  auto service = kit.system().spawn<plain>();
  expect_nothing_kept_of([&] {
    auto session = kit.system().spawn<plain>();
    service.ask(look_at{session}).get();
    session.stop();
    kit.run_until_idle();
  });
}

TEST(DeathWatch, KeepsNothingOfAFutureThatNobodyWaitsFor) {
  test_kit kit;
  auto service = kit.system().spawn<plain>();
  auto first = service.when_terminated();
  expect_nothing_kept_of([&] { (void)service.when_terminated(); });
  service.stop();
  kit.run_until_idle();
  EXPECT_EQ(first.get().id, service.id());
}

TEST(DeathWatch, TellsAFunctionWhoseOwnFutureNobodyKeeps) {
  test_kit kit;
  auto service = kit.system().spawn<plain>();
  int told = 0;
  for (int i = 0; i < 100; ++i)
    (void)service.when_terminated().then([&](const terminated&) { return ++told; });
  service.stop();
  kit.run_until_idle();
  EXPECT_EQ(told, 100);
}

// One ends first, while the other looks for its watch.
TEST(DeathWatch, EndsFromBothSidesAtOnce) {
  constexpr int rounds = test::under_sanitizers ? 200 : 2'000;
  troupe::system system({.threads = 2});
  for (int round = 0; round < rounds; ++round) {
    const auto one = system.spawn<plain>();
    const auto other = system.spawn<plain>();
    one.tell(look_at{other});
    other.ask(look_at{one}).get();
    one.stop_after_mailbox();
    other.stop_after_mailbox();
    ASSERT_TRUE(one.when_terminated().wait_for(20s));
    ASSERT_TRUE(other.when_terminated().wait_for(20s));
  }
}

}  // namespace
}  // namespace troupe
