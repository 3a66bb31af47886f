#include "device/local/device_lanes.hpp"

#include "wire/layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace troupe {
namespace {

// Types as a program makes them at run time.
std::vector<request_type> types_of(const std::vector<std::string>& names) {
  std::vector<request_type> types(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    types[i].name = names[i];
    types[i].id = detail::hash_of(names[i]);
  }
  return types;
}

std::uint8_t lane_for(device_lanes& lanes, const request_type& type) {
  const auto known = lanes.known(type);
  return known ? *known : lanes.remember(type);
}

TEST(DeviceLanes, ATypeHasTheLaneOfItsLibrary) {
  device_lanes lanes(lane_policy::per_actor());
  const std::vector<std::string> names{"blas.gemm", "blas.axpy", "fft.c2c"};
  const auto types = types_of(names);
  const std::uint8_t blas = lanes.of("blas").lanes->pick();
  const std::uint8_t fft = lanes.of("fft").lanes->pick();
  EXPECT_NE(blas, fft);
  for (int times = 0; times < 2; ++times) {
    EXPECT_EQ(lane_for(lanes, types[0]), blas);
    EXPECT_EQ(lane_for(lanes, types[1]), blas);
    EXPECT_EQ(lane_for(lanes, types[2]), fft);
  }
  EXPECT_TRUE(lanes.known(types[0]));
}

TEST(DeviceLanes, TypesOfAPoolUseItsLanesInTurn) {
  device_lanes lanes(lane_policy::pool(3));
  const std::vector<std::string> names{"blas.gemm", "blas.axpy"};
  const auto types = types_of(names);
  std::vector<std::uint8_t> used;
  for (int i = 0; i < 3; ++i)
    used.push_back(lane_for(lanes, types[static_cast<std::size_t>(i % 2)]));
  std::ranges::sort(used);
  EXPECT_EQ(std::ranges::unique(used).size(), 0U);
}

TEST(DeviceLanes, MoreTypesThanTheTableHoldsHaveLanesToo) {
  device_lanes lanes(lane_policy::per_actor());
  std::vector<std::string> names;
  for (int i = 0; i < 1000; ++i)
    names.push_back("library" + std::to_string(i % 5) + ".operation" + std::to_string(i));
  const auto types = types_of(names);
  for (int times = 0; times < 2; ++times) {
    for (const request_type& type : types)
      EXPECT_EQ(lane_for(lanes, type), lanes.of(type.library()).lanes->pick()) << type.name;
  }
}

TEST(DeviceLanes, ThreadsThatAskAtOnceAgree) {
  device_lanes lanes(lane_policy::per_actor());
  std::vector<std::string> names;
  for (int i = 0; i < 200; ++i)
    names.push_back("library" + std::to_string(i % 7) + ".operation" + std::to_string(i));
  const auto types = types_of(names);
  std::vector<std::vector<std::uint8_t>> found(4);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : found) {
      threads.emplace_back([&] {
        for (const request_type& type : types)
          mine.push_back(lane_for(lanes, type));
      });
    }
  }
  for (const auto& one : found)
    EXPECT_EQ(one, found.front());
}

TEST(DeviceLanes, EachMappedTensorHasALaneOfItsOwn) {
  device_lanes lanes(lane_policy::per_actor());
  std::vector<std::uint8_t> taken;
  while (const auto lane = lanes.take_for_mapping())
    taken.push_back(*lane);
  EXPECT_EQ(taken.size(), static_cast<std::size_t>(device_endpoint::mapping_lanes));
  EXPECT_TRUE(std::ranges::all_of(taken, [](std::uint8_t lane) { return lane < wire::max_lanes; }));
  lanes.leave_mapping(taken[3]);
  EXPECT_EQ(lanes.take_for_mapping(), taken[3]);
}

}  // namespace
}  // namespace troupe
