// Refusals of pooling, batch and local response norms, and resampling, and their messages.
#include "plane_map.hpp"

#include <troupe/dnn/batch_norm.hpp>
#include <troupe/dnn/lrn.hpp>
#include <troupe/dnn/pooling.hpp>
#include <troupe/dnn/resample.hpp>

namespace troupe::conformance {
namespace {

using enum errc;

class DnnLayerRefusals : public testing::Test {
 protected:
  [[nodiscard]] any_tensor tensor(const numbers& extents, dtype type = dtype::f32) {
    return image_tensor(s, type, extents, image_order::channels_first).view;
  }
  [[nodiscard]] dnn::max_pool_forward good() {
    return {.x = tensor({2, 3, 8, 9}), .y = tensor({2, 3, 4, 4}), .window = {2}};
  }

  scene s;
};

TEST_F(DnnLayerRefusals, NameTheExtentsOfPoolingThatDoNotGoTogether) {
  dnn::max_pool_forward r = good();
  r.y = tensor({2, 3, 4, 5});
  s.refuse(r, shape_mismatch,
           "y must have extent 4 in dimension 3 because x has 9, window is 2, stride 2, dilation "
           "1, padding 0 and 0, ceil_mode false; y is [2, 3, 4, 5]");
  r.ceil_mode = true;
  s.run(r);
  r = good();
  r.window = {9, 2};
  s.refuse(r, shape_mismatch,
           "window exceeds the padded x in dimension 2: 9 dilated by 1 is 9 long, 8 padded by 0 "
           "and 0 is 8");
  r = good();
  r.y = tensor({2, 3, 4});
  s.refuse(r, shape_mismatch, "x and y must have as many dimensions of space");
  r = good();
  r.y = tensor({2, 4, 4, 4});
  s.refuse(r, shape_mismatch, "y must have extent 3 in dimension 1 (c)");
  r = good();
  r.x = tensor({2, 3, 0, 9});
  s.refuse(r, shape_mismatch, "dimension 2 of x must have an extent of at least 1");
  r = good();
  r.places = tensor({2, 3, 4, 5}, dtype::u8);
  s.refuse(r, shape_mismatch, "places");
  s.refuse(dnn::adaptive_average_pool_forward{.x = tensor({2, 3, 8}), .y = tensor({2, 3, 4, 4})},
           shape_mismatch, "x and y must have as many dimensions of space");
  s.refuse(dnn::resample_backward{.dy = tensor({2, 3, 0}), .dx = tensor({2, 3, 4})}, shape_mismatch,
           "dimension 2 of dy must have an extent of at least 1");
}

TEST_F(DnnLayerRefusals, NameNumbersOfPoolingOutOfRange) {
  const auto refuse = [&](auto change, std::string_view text) {
    dnn::max_pool_forward r = good();
    change(r);
    s.refuse(r, invalid_argument, text);
  };
  refuse([](auto& r) { r.window = {}; }, "window");
  refuse([](auto& r) { r.window = {2, 2, 2}; },
         "window must have one number for each of 2 dimensions of space");
  refuse([](auto& r) { r.window = {0, 2}; },
         "window must have numbers from 1 to 2147483647; it is [0, 2]");
  refuse([](auto& r) { r.stride = {0}; }, "stride must have numbers from 1");
  refuse([](auto& r) { r.dilation = {-1}; }, "dilation must have numbers from 1");
  refuse([](auto& r) { r.padding = {-1}; }, "padding must have numbers from 0");
  refuse([](auto& r) { r.post_padding = {1, 2, 3}; }, "post_padding must have one number");
  dnn::max_pool_forward r = good();
  r.padding = {std::int64_t{1} << 31};
  s.refuse(r, invalid_argument, "padding must have numbers from 0 to 2147483647");
  r.padding = {2147483647};
  s.refuse(r, unsupported, "the padded x must have at most 2147483647 places in dimension 2");
}

TEST_F(DnnLayerRefusals, NameWindowsThatPlacesCannotCount) {
  dnn::max_pool_forward r{.x = tensor({1, 1, 300}),
                          .y = tensor({1, 1, 1}),
                          .places = tensor({1, 1, 1}, dtype::u8),
                          .window = {256},
                          .stride = {300}};
  s.refuse(r, invalid_argument,
           "window must have at most 255 places for places of u8; it is [256]");
  r.places = tensor({1, 1, 1}, dtype::i32);
  s.run(r);
  r.places = tensor({1, 1, 1}, dtype::i64);
  s.refuse(r, type_mismatch);
  r.places = {};
  r.y = tensor({1, 1, 1}, dtype::f16);
  s.refuse(r, type_mismatch);
  r.y = r.x;
  s.refuse(r, aliasing);
}

TEST_F(DnnLayerRefusals, NameWhatIsWrongOfAveragesAndAdaptiveMaxima) {
  dnn::average_pool_forward average{
      .x = tensor({2, 3, 8}), .y = tensor({2, 3, 3}), .window = {3}, .dilation = {2}};
  s.refuse(average, shape_mismatch, "y must have extent 2 in dimension 2 because x has 8");
  average.divisor = -1;
  s.refuse(average, invalid_argument, "divisor");
  dnn::adaptive_max_pool_forward adaptive{.x = tensor({2, 3, 8}), .y = tensor({2, 3, 4})};
  s.run(adaptive);
  adaptive.places = tensor({2, 3, 4}, dtype::u8);
  s.refuse(adaptive, type_mismatch);
  adaptive.places = tensor({2, 3, 5}, dtype::i32);
  s.refuse(adaptive, shape_mismatch, "places");
}

TEST_F(DnnLayerRefusals, NameInterpolationsThatTakeNoScale) {
  using enum dnn::interpolation;
  const dnn::resample_forward good{
      .x = tensor({2, 3, 8, 9}), .y = tensor({2, 3, 9, 11}), .interpolation = cubic};
  const auto refuse = [&](auto change, std::string_view text) {
    dnn::resample_forward r = good;
    change(r);
    s.refuse(r, invalid_argument, text);
  };
  s.run(good);
  refuse([](auto& r) { r.scale = {1.5, 1.5, 1.5}; },
         "scale must have one number for each of 2 dimensions of space, one for all, or none; it "
         "has 3");
  refuse([](auto& r) { r.scale = {1.5, 0}; }, "scale must have positive and finite numbers");
  for (const dnn::interpolation how : {linear_corners, cubic_corners, area}) {
    refuse(
        [&](auto& r) {
          r.interpolation = how;
          r.scale = {1.5};
        },
        "scale");
  }
  refuse(
      [](auto& r) {
        r.interpolation = nearest;
        r.antialias = true;
      },
      "antialias");
}

TEST_F(DnnLayerRefusals, NameWhatIsWrongOfNorms) {
  const auto x = tensor({2, 3, 4});
  const auto c = [&](std::int64_t n = 3, dtype type = dtype::f32) { return tensor({n}, type); };
  dnn::batch_norm_training r{.x = x, .y = x, .mean = c(), .rstd = c()};
  s.run(r);
  r.running_mean = c();
  s.refuse(r, invalid_argument, "running_variance");
  r.running_variance = c(4);
  s.refuse(r, shape_mismatch, "running_variance must have 3 elements (c) because x is [2, 3, 4]");
  r.running_variance = r.running_mean;
  s.refuse(r, aliasing);
  r.running_variance = c();
  r.momentum = 1.5;
  s.refuse(r, invalid_argument, "momentum");
  r.momentum = 0.5;
  r.eps = -1;
  s.refuse(r, invalid_argument, "eps");
  r.eps = 0;
  r.weight = c(3, dtype::f16);
  s.refuse(r, type_mismatch);
  s.refuse(
      dnn::batch_norm_backward{.x = x, .dy = tensor({2, 3, 5}), .mean = c(), .rstd = c(), .dx = x},
      shape_mismatch, "dy must have the extents [4] (space) because x is [2, 3, 4]");
  s.refuse(dnn::lrn_forward{.x = x, .y = x}, aliasing);
  s.refuse(dnn::lrn_forward{.x = x, .y = tensor({2, 3, 4}), .size = 0}, invalid_argument, "size");
  s.refuse(dnn::lrn_forward{.x = x, .y = tensor({2, 3, 4}), .k = 0}, invalid_argument, "k");
}

}  // namespace
}  // namespace troupe::conformance
