#include "supervised.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <ostream>

// What happens to one of very many actors costs no more than where there are few.
namespace troupe {
namespace {

using namespace supervised;
using testing::test_kit;

double seconds_of_this_thread() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class plain final : public actor {
 public:
  void handle(raise r) { throw failure(error{.code = r.code}); }
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
  for (int i = 0; i < children; ++i)
    all.push_back(kit.system().spawn<plain>());
  kit.run_until_idle();
  const double begun = seconds_of_this_thread();
  what.happens(kit, all);
  return (seconds_of_this_thread() - begun) / children;
}

class ManyChildren : public ::testing::TestWithParam<scenario> {};

// Sixteen times as many were up to sixteen times as dear each; the caches account for a few times.
TEST_P(ManyChildren, CostNoMoreEachThanFew) {
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

system_config restarting(strategy how, backoff wait) {
  return {.supervision = {.strategy = how, .decider = &always_restart, .backoff = wait}};
}

INSTANTIATE_TEST_SUITE_P(
    All, ManyChildren,
    ::testing::Values(scenario{"End", {}, &end_one_after_another},
                      scenario{"AreRestarted",
                               restarting(strategy::one_for_one, {.initial = 100ms}),
                               &fail_one_after_another},
                      scenario{"FailTogether", restarting(strategy::one_for_all, {.initial = 0ns}),
                               &fail_all_together},
                      scenario{"EndWhileTheyAreRestarted",
                               restarting(strategy::one_for_all, {.initial = 1h, .longest = 1h}),
                               &end_while_they_are_restarted}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace troupe
