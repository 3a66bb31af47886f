// The bytes of a compiled plan: reading returns the written plan, and other bytes are no plan.

#include "libraries/dnn/cuda/plan/plan_image.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <random>

namespace troupe::cuda {
namespace {

plan_image some_image() {
  using kind = plan_image::binding::kind;
  return {
      .plan = "{\"engine\": 7}",
      .bindings = {{.uid = 1, .what = kind::operand, .operand = 1, .at = 0, .constant = 0},
                   {.uid = 2, .what = kind::operand, .operand = 1, .at = 64, .constant = 0},
                   {.uid = 5, .what = kind::constant, .operand = 0, .at = 0, .constant = 0x3f80},
                   {.uid = 9, .what = kind::workspace, .operand = 0, .at = 256, .constant = 0}},
      .presets = {{.at = 0, .bytes = 12, .values = {1, 2, 3}},
                  {.at = 256, .bytes = 64, .values = {}}},
      .frontend_workspace_bytes = 512,
      .engine = "eng3_k1=2",
      .alternative = 2,
      .graph = 0x9e3779b97f4a7c15};
}

TEST(PlanImage, IsReadBackAsItWasWritten) {
  const plan_image written = some_image();
  const auto read = plan_image::from_bytes(written.to_bytes());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->to_bytes(), written.to_bytes());
  EXPECT_EQ(read->plan, written.plan);
  ASSERT_EQ(read->bindings.size(), 4u);
  EXPECT_EQ(read->bindings[1].at, 64);
  EXPECT_EQ(read->bindings[2].constant, 0x3f80u);
  ASSERT_EQ(read->presets.size(), 2u);
  EXPECT_EQ(read->presets[0].values, (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(read->presets[1].bytes, 64);
  EXPECT_EQ(read->frontend_workspace_bytes, 512);
  EXPECT_EQ(read->alternative, 2);
  EXPECT_EQ(read->graph, written.graph);
}

TEST(PlanImage, IsNotReadFromFewerBytesOrMore) {
  std::vector<std::byte> bytes = some_image().to_bytes();
  for (std::size_t i = 0; i < bytes.size(); ++i)
    EXPECT_FALSE(plan_image::from_bytes(std::span(bytes).first(i))) << i;
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(plan_image::from_bytes(bytes));
}

TEST(PlanImage, OfAnyBytesIsOneOrNone) {
  std::mt19937 random(3);
  const std::vector<std::byte> good = some_image().to_bytes();
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::byte> bytes = good;
    for (unsigned n = 0; n <= random() % 4; ++n)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    const auto read = plan_image::from_bytes(bytes);
    if (!read) continue;
    for (const auto& one : read->presets) {
      EXPECT_GE(one.at, 0);
      EXPECT_LE(std::max<std::int64_t>(one.bytes, std::ssize(one.values) * 4),
                read->frontend_workspace_bytes - one.at);
    }
  }
}

TEST(PlanImage, IsRefusedWhereItLeavesItsWorkspace) {
  constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max();
  const auto refused = [](auto change) {
    plan_image image = some_image();
    change(image);
    return !image.lies_within_workspace() && !plan_image::from_bytes(image.to_bytes());
  };
  for (const std::int64_t at : {std::int64_t{-1}, std::int64_t{501}, std::int64_t{513}, far})
    EXPECT_TRUE(refused([&](plan_image& p) { p.presets[0].at = at; })) << at;
  for (const std::int64_t bytes : {std::int64_t{-1}, std::int64_t{257}, far})
    EXPECT_TRUE(refused([&](plan_image& p) { p.presets[1].bytes = bytes; })) << bytes;
  EXPECT_TRUE(refused([](plan_image& p) { p.presets[0].values.resize(129); }));
  for (const std::int64_t at : {std::int64_t{-1}, std::int64_t{513}, far})
    EXPECT_TRUE(refused([&](plan_image& p) { p.bindings[3].at = at; })) << at;
  EXPECT_TRUE(refused([](plan_image& p) { p.bindings[1].at = -1; }));
  for (const std::int64_t operand : {std::int64_t{0}, plan_image::most_operands + 1})
    EXPECT_TRUE(refused([&](plan_image& p) { p.bindings[0].operand = operand; })) << operand;
  EXPECT_TRUE(refused([](plan_image& p) { p.frontend_workspace_bytes = -1; }));
  EXPECT_TRUE(refused([](plan_image& p) { p.alternative = -1; }));
}

TEST(PlanImage, IsComparedWithItsOperands) {
  const auto lies_within = [](std::vector<std::int64_t> operand_bytes) {
    return some_image().lies_within(operand_bytes);
  };
  EXPECT_TRUE(lies_within({65}));
  EXPECT_TRUE(lies_within({65, 1}));
  EXPECT_FALSE(lies_within({64}));
  EXPECT_FALSE(lies_within({}));
}

}  // namespace
}  // namespace troupe::cuda
