// Choosing a device, by made-up snapshots and keys.
#include "device/selection/pick.hpp"
#include "device/selection/rendezvous.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

namespace troupe {
namespace {

std::vector<device_snapshot> four() {
  using enum device_state;
  return {
      {.ordinal = 3, .state = ready, .architecture = "sm_90", .free_bytes = 80, .in_flight = 4},
      {.ordinal = 0, .state = ready, .architecture = "sm_80", .free_bytes = 40, .in_flight = 1},
      {.ordinal = 1, .state = recovering, .architecture = "sm_90", .free_bytes = 90},
      {.ordinal = 2, .state = starting, .architecture = "sm_90", .free_bytes = 80, .in_flight = 1},
  };
}

std::int32_t picked(const std::vector<device_snapshot>& all, const pick_options& options,
                    std::uint64_t turn = 0) {
  const auto best = pick_from(all, options, turn);
  return best ? all[*best].ordinal : -1;
}

TEST(PickDevice, PrefersByPolicyThenByNumberAndTakesOneThatRecoversLast) {
  auto all = four();
  EXPECT_EQ(picked(all, {}), 2) << "as much free as device 3";
  EXPECT_EQ(picked(all, {.policy = pick_policy::least_in_flight}), 0);
  EXPECT_EQ(picked(all, {.architecture = "sm_80"}), 0);
  EXPECT_EQ(picked(all, {.min_free_bytes = 85}), 1);
  all[0].near_bytes = 10;
  EXPECT_EQ(picked(all, {.policy = pick_policy::local}), 3);
  EXPECT_EQ(picked(all, {.near = {any_tensor()}}), 3) << "local is the policy where `near` is";
  all[2].near_bytes = 20;
  EXPECT_EQ(picked(all, {.policy = pick_policy::local}), 3);
  for (std::uint64_t turn = 0; turn < 4; ++turn) {
    EXPECT_EQ(picked(all, {.policy = pick_policy::round_robin}, turn),
              (std::array<std::int32_t, 4>{0, 2, 3, 0}.at(turn)));
  }
}

TEST(PickDevice, RefusesWithTheReasonOfEachDevice) {
  auto all = four();
  all[0].state = device_state::stopped;
  const auto none = pick_from(all, {.min_free_bytes = 100, .architecture = "sm_90"}, 0);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, errc::device_unavailable);
  EXPECT_EQ(none.error().message,
            "no device of the group can be picked; device 3 has stopped; device 0 is sm_80, not "
            "sm_90; device 1 has 90 bytes free, and 100 are needed; device 2 has 80 bytes free, "
            "and 100 are needed");
}

// With 2 : 1 : 1, 20 000 keys: the shares are within five standard deviations.
TEST(Rendezvous, SharesKeysByWeightAndMovesOnlyThoseOfADeviceThatGoes) {
  const std::array seeds{rendezvous_seed("GPU-1"), rendezvous_seed("GPU-2"), rendezvous_seed("#7")};
  const std::array weights{2.0, 1.0, 1.0};
  const auto owner = [&](const std::string& key, std::size_t devices) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < devices; ++i) {
      if (rendezvous_draw(seeds[i], key, weights[i]) >
          rendezvous_draw(seeds[best], key, weights[best]))
        best = i;
    }
    return best;
  };
  constexpr int keys = 20'000;
  std::array<int, 3> share{};
  for (int i = 0; i < keys; ++i) {
    const std::string key = "user/" + std::to_string(i);
    const std::size_t with_all = owner(key, 3);
    ++share[with_all];
    if (with_all != 2) {
      EXPECT_EQ(owner(key, 2), with_all) << key;
    }
  }
  for (std::size_t i = 0; i < 3; ++i) {
    const double p = weights[i] / 4;
    EXPECT_NEAR(share[i], keys * p, 5 * std::sqrt(keys * p * (1 - p))) << i;
  }
}

// Other processes have the same map: the numbers must never change.
TEST(Rendezvous, DrawsTheSameNumbersInEveryVersion) {
  EXPECT_EQ(rendezvous_seed("GPU-1"), 9372088853280050156U);
  EXPECT_NEAR(rendezvous_draw(rendezvous_seed("GPU-1"), "a key", 1), 0.324204297646, 1e-9);
}

}  // namespace
}  // namespace troupe
