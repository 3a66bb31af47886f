#include "actor_laws.hpp"
#include "actor_model.hpp"
#include "actor_runtime.hpp"
#include "model/schedules.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <sstream>
#include <utility>

namespace troupe::model {
namespace {

// Nothing where both are the same; else what led to the first difference.
std::string difference(const trace& expected, const trace& seen) {
  const auto [of_model, of_runtime] = std::ranges::mismatch(expected, seen);
  if (of_model == expected.end() && of_runtime == seen.end()) return {};
  std::ostringstream out;
  print(out, seen, static_cast<std::size_t>(of_runtime - seen.begin()), 40);
  out << "the model:   " << (of_model == expected.end() ? "nothing more" : to_string(*of_model))
      << '\n'
      << "the runtime: " << (of_runtime == seen.end() ? "nothing more" : to_string(*of_runtime))
      << '\n';
  return out.str();
}

TEST(ActorSchedules, AgreeWithTheModel) {
  run_schedules(20'000, [](std::uint64_t seed, bool show) {
    const scenario s = draw_scenario(seed);
    const trace expected = run_model(s);
    const trace seen = run_runtime(s);
    if (show) {
      print(std::cout, s);
      print(std::cout, seen, seen.size(), seen.size());
    }
    return difference(expected, seen);
  });
}

TEST(ActorSchedules, KeepTheLawsWhateverTheModelSays) {
  run_schedules(5'000, [](std::uint64_t seed, bool show) {
    const trace seen = run_runtime(draw_scenario(seed));
    if (show) print(std::cout, seen, seen.size(), seen.size());
    return broken_law(seen);
  });
}

// Schedules reach the situations that they are for, and often.
TEST(ActorSchedules, ReachWhatTheyAreFor) {
  std::map<event_kind, int> kinds;
  std::map<std::pair<event_kind, std::int32_t>, int> codes_of;
  std::map<std::int32_t, int> verdicts;
  for (std::uint64_t seed = 1; seed <= 1'000; ++seed) {
    for (const event& e : run_model(draw_scenario(seed))) {
      ++kinds[e.what];
      if (e.what == event_kind::decides) ++verdicts[e.c];
      if (e.what == event_kind::answered || e.what == event_kind::dead_letter) {
        ++codes_of[{e.what, e.b}];
      }
      if (e.what == event_kind::shut_down) ++codes_of[{e.what, e.b}];
    }
  }
  for (auto kind = event_kind::action; kind <= event_kind::shut_down;
       kind = static_cast<event_kind>(static_cast<int>(kind) + 1)) {
    EXPECT_GT(kinds[kind], 100) << to_string(event{.what = kind});
  }
  for (const directive d :
       {directive::resume, directive::restart, directive::stop, directive::escalate}) {
    EXPECT_GT(verdicts[static_cast<std::int32_t>(d)], 100) << static_cast<int>(d);
  }
  const auto expect = [&](event_kind kind, std::initializer_list<errc> all) {
    for (const errc e : all) {
      EXPECT_GT((codes_of[{kind, static_cast<std::int32_t>(e)}]), 30)
          << to_string(e) << " of " << to_string(event{.what = kind});
    }
  };
  expect(event_kind::answered, {errc::numerical, errc::actor_stopped, errc::mailbox_full,
                                errc::timed_out, errc::cancelled});
  expect(event_kind::dead_letter, {errc::actor_stopped, errc::mailbox_full});
  expect(event_kind::shut_down, {errc{}, errc::timed_out});
}

TEST(ActorSchedules, ASeedReplays) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const scenario s = draw_scenario(seed);
    ASSERT_EQ(difference(run_runtime(s), run_runtime(s)), "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace troupe::model
