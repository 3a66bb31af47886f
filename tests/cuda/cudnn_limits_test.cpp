// The predicates that keep cases from cuDNN, and the keys of its plans; without cuDNN.

#include "libraries/dnn/cuda/convolution/convolution_case.hpp"
#include "libraries/dnn/cuda/limits.hpp"
#include "libraries/dnn/cuda/plan/graph_fingerprint.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

namespace troupe::cuda {
namespace {

namespace cudnn = limits::cudnn;

/// A tensor [n, c, h, w] with the channels last, somewhere.
any_tensor image(dtype type, std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w,
                 std::uintptr_t at = 0x1000) {
  return any_tensor::unowned(reinterpret_cast<std::byte*>(at), type, shape({n, c, h, w}),
                             std::vector<std::int64_t>{h * w * c, 1, w * c, c});
}

dnn::convolution_forward forward(dtype type, std::int64_t channels = 16) {
  return {.x = image(type, 2, channels, 5, 6),
          .w = image(type, 24, channels, 3, 3, 0x2000),
          .y = image(type, 2, 24, 5, 6, 0x3000),
          .padding = {1},
          .activation = dnn::activation::relu};
}

bool is_direct(const dnn::convolution_forward& r) {
  return !convolution_case(r).forms().front().staged;
}
bool is_fused(const dnn::convolution_forward& r) {
  return convolution_case(r).forms().front().fused;
}

TEST(CudnnLimits, AChangedRowChangesTheKeyOfPlans) {
  const auto key_with = [](std::size_t at, auto change) {
    auto rows = cudnn::all;
    change(rows[at]);
    return static_cast<std::int64_t>(fingerprint(rows) >> 41);
  };
  std::set<std::int64_t> keys{cudnn::key_of_plans};
  for (std::size_t at = 0; at < cudnn::all.size(); ++at) {
    keys.insert(key_with(at, [](vendor_limit& row) { row.condition.remove_suffix(1); }));
    keys.insert(key_with(at, [](vendor_limit& row) { row.to = "9.15"; }));
    keys.insert(key_with(at, [](vendor_limit& row) { row.from = ""; }));
  }
  EXPECT_EQ(keys.size(), 1 + 3 * cudnn::all.size());
  plan_words key;
  convolution_case(forward(dtype::f32)).write(key);
  EXPECT_EQ(key.front() >> 8, cudnn::key_of_plans);
}

TEST(CudnnLimits, AreAskedOfEachConvolution) {
  EXPECT_TRUE(is_direct(forward(dtype::f32)));
  auto at_an_odd_address = forward(dtype::f32);
  at_an_odd_address.w = image(dtype::f32, 24, 16, 3, 3, 0x2004);
  EXPECT_FALSE(is_direct(at_an_odd_address));
  auto in_two_orders = forward(dtype::f32);
  in_two_orders.w = any_tensor::unowned(in_two_orders.w.address(), dtype::f32, {24, 16, 3, 3});
  EXPECT_FALSE(is_direct(in_two_orders));
  auto more_behind = forward(dtype::f32);
  more_behind.post_padding = {2};
  more_behind.y = image(dtype::f32, 2, 24, 6, 7, 0x3000);
  EXPECT_FALSE(is_direct(more_behind));
  EXPECT_FALSE(is_direct(forward(dtype::f64))) << "with the channels last";
}

TEST(CudnnLimits, AreAskedOfWhatFollowsTheSums) {
  EXPECT_TRUE(is_fused(forward(dtype::f16)));
  EXPECT_FALSE(is_fused(forward(dtype::f32)));
  EXPECT_FALSE(is_fused(forward(dtype::f16, 12)));
  auto clipped = forward(dtype::f16);
  clipped.activation = dnn::activation::clipped_relu;
  clipped.upper = 6;
  EXPECT_TRUE(is_fused(clipped));
  clipped.alpha = 2;
  EXPECT_FALSE(is_fused(clipped));
  auto in_place = forward(dtype::f16);
  in_place.beta = 1;
  in_place.z = in_place.y;
  EXPECT_FALSE(is_fused(in_place));
}

TEST(CudnnLimits, BarAnEngineOfForwardSums) {
  using bars = std::vector<std::int64_t>;
  const auto r = forward(dtype::bf16);
  const auto graphs = convolution_case(r).graphs();
  ASSERT_EQ(graphs.size(), 4u);
  EXPECT_EQ(graphs.front().barred_engines, bars()) << "with a fused pass";
  for (std::size_t i = 1; i < graphs.size(); ++i)
    EXPECT_EQ(graphs[i].barred_engines, bars{71});
  const dnn::convolution_backward_data gradient{.dy = r.y, .w = r.w, .dx = r.x, .padding = {1}};
  EXPECT_EQ(convolution_case(gradient).graphs().front().barred_engines, bars());
}

TEST(CudnnLimits, LeaveNarrowTypesAFormInF32) {
  auto r = forward(dtype::bf16);
  for (const auto activation : {dnn::activation::relu, dnn::activation::none}) {
    r.activation = activation;
    EXPECT_TRUE(convolution_case(r).forms().back().widened);
  }
  EXPECT_FALSE(convolution_case(forward(dtype::f32)).forms().back().widened);
}

TEST(CudnnLimits, OneIsLiftedByTheEnvironmentAndSaysSo) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process that has not asked yet
  auto r = forward(dtype::f32);
  r.post_padding = {2};
  r.y = image(dtype::f32, 2, 24, 6, 7, 0x3000);
  const auto leave_with = [&](const char* lifted) {
    ::setenv("TROUPE_TEST_LIFT", lifted, 1);  // NOLINT(concurrency-mt-unsafe)
    std::exit(is_direct(r) ? 1 : 0);          // NOLINT(concurrency-mt-unsafe)
  };
  EXPECT_EXIT(leave_with("dnn.convolution_padding"), testing::ExitedWithCode(1),
              "^lifted: dnn.convolution_padding\n$");
  EXPECT_EXIT(leave_with("dnn.convolution_order"), testing::ExitedWithCode(0), "^$");
}

TEST(GraphFingerprint, ChangesWithWhatTheGraphComputes) {
  const auto graphs = convolution_case(forward(dtype::f16)).graphs();
  const graphs::description& fused = graphs.front();
  std::set<std::uint64_t> seen{graphs::fingerprint(fused), graphs::fingerprint(graphs[1])};
  const auto changed = [&](auto change) {
    graphs::description other = fused;
    change(other);
    seen.insert(graphs::fingerprint(other));
  };
  changed([](auto& g) { g.tensors[0].operand = 2; });
  changed([](auto& g) { g.tensors[0].strides[1] = 2; });
  changed([](auto& g) { g.tensors[1].alignment = 4; });
  changed([](auto& g) { std::get<graphs::convolution>(g.nodes[0]).after[0] = 3; });
  changed([](auto& g) { std::get<graphs::pointwise>(g.nodes[1]).upper = 0.0F; });
  changed([](auto& g) { g.nodes.pop_back(); });
  changed([](auto& g) { g.barred_engines = {71}; });
  changed([](auto& g) { g.timed = 8; });
  EXPECT_EQ(seen.size(), 10u);
  EXPECT_EQ(graphs::fingerprint(fused),
            graphs::fingerprint(convolution_case(forward(dtype::f16)).graphs().front()));
}

}  // namespace
}  // namespace troupe::cuda
