// Refusals of convolutions, before anything is queued, and their messages.
#include "convolution_cases.hpp"

#include <limits>

namespace troupe::conformance {
namespace {

using enum errc;

class DnnConvolutionRefusals : public testing::Test {
 protected:
  [[nodiscard]] any_tensor tensor(const numbers& extents, dtype type = dtype::f32,
                                  image_order order = image_order::channels_first) {
    return image_tensor(s, type, extents, order).view;
  }
  [[nodiscard]] dnn::convolution_forward good() {
    return {.x = tensor({2, 6, 8, 9}), .w = tensor({4, 6, 3, 2}), .y = tensor({2, 4, 6, 8})};
  }

  scene s;
};

TEST_F(DnnConvolutionRefusals, NameTheExtentsThatDoNotGoTogether) {
  dnn::convolution_forward r = good();
  r.w = tensor({4, 5, 3, 2});
  s.refuse(
      r, shape_mismatch,
      "w must have extent 6 in dimension 1, the channels of x divided by groups 1: w is [4, 5, "
      "3, 2], x is [2, 6, 8, 9]");
  r = good();
  r.groups = 4;
  s.refuse(r, shape_mismatch, "groups 4 does not divide the 6 channels of x: x is [2, 6, 8, 9]");
  r.groups = 3;
  s.refuse(r, shape_mismatch, "groups 3 does not divide the 4 channels of y: y is [2, 4, 6, 8]");
  r = good();
  r.y = tensor({2, 4, 6, 7});
  s.refuse(r, shape_mismatch,
           "y must have extent 8 in dimension 3 because x has 9, w has 2, stride is 1, dilation 1, "
           "padding 0 and 0; y is [2, 4, 6, 7]");
  r = good();
  r.dilation = {4, 1};
  s.refuse(
      r, shape_mismatch,
      "w exceeds the padded x in dimension 2: 3 dilated by 4 is 9 long, 8 padded by 0 and 0 is "
      "8");
  r.stride = {2, 1};
  r.y = tensor({2, 4, 1, 8});
  s.refuse(r, shape_mismatch, "w exceeds the padded x in dimension 2");
  r = good();
  r.w = tensor({4, 6, 3});
  s.refuse(r, shape_mismatch, "w and x must have as many dimensions of space");
  r = good();
  r.y = tensor({3, 4, 6, 8});
  s.refuse(r, shape_mismatch, "y must have extent 2 in dimension 0 (n)");
  r = good();
  r.y = tensor({2, 5, 6, 8});
  s.refuse(r, shape_mismatch, "y must have extent 4 in dimension 1 (k)");
  r = good();
  r.x = tensor({2, 6});
  s.refuse(r, shape_mismatch, "x must have rank 3 to 5");
  r = good();
  r.x = tensor({2, 0, 8, 9});
  s.refuse(r, shape_mismatch, "dimension 1 of x must have an extent of at least 1");
  r = good();
  r.w = tensor({4, 6, 0, 2});
  s.refuse(r, shape_mismatch, "dimension 2 of w must have an extent of at least 1");
}

TEST_F(DnnConvolutionRefusals, NameNumbersOutOfRange) {
  const auto refuse = [&](auto change, std::string_view text) {
    dnn::convolution_forward r = good();
    change(r);
    s.refuse(r, invalid_argument, text);
  };
  refuse([](auto& r) { r.stride = {1, 1, 1}; },
         "stride must have one number for each of 2 dimensions of space, one for all, or none; it "
         "is [1, 1, 1]");
  refuse([](auto& r) { r.stride = {1, 0}; },
         "stride must have numbers from 1 to 2147483647; it is [1, 0]");
  refuse([](auto& r) { r.dilation = {0}; },
         "dilation must have numbers from 1 to 2147483647; it is [0]");
  refuse([](auto& r) { r.padding = {0, -1}; },
         "padding must have numbers from 0 to 2147483647; it is [0, -1]");
  refuse([](auto& r) { r.post_padding = {std::numeric_limits<std::int64_t>::max()}; },
         "post_padding must have numbers from 0 to 2147483647");
  refuse([](auto& r) { r.groups = 0; }, "groups is 0, it must be at least 1");
  refuse([](auto& r) { r.alpha = std::complex<double>(1, 1); }, "alpha");
  refuse([](auto& r) { r.upper = 2; }, "upper");
  refuse(
      [](auto& r) {
        r.activation = dnn::activation::clipped_relu;
        r.upper = -1;
      },
      "upper");
  refuse([](auto& r) { r.beta = 1; }, "z must be given because beta is not 0");
  refuse([&](auto& r) { r.z = r.y; }, "z must not be given unless beta is not 0");
}

TEST_F(DnnConvolutionRefusals, NameTypesThatAreNotConvolved) {
  dnn::convolution_forward r = good();
  r.w = tensor({4, 6, 3, 2}, dtype::f16);
  s.refuse(r, type_mismatch, "w");
  r = good();
  r.bias = tensor({4}, dtype::f64);
  s.refuse(r, type_mismatch, "bias");
  r = {.x = tensor({2, 6, 8, 9}, dtype::f16),
       .w = tensor({4, 6, 3, 2}, dtype::f16),
       .y = tensor({2, 4, 6, 8}, dtype::f16)};
  r.math = dnn::math_mode::tf32;
  s.refuse(r, invalid_argument, "math");
  s.refuse(dnn::convolution_backward_data{.dy = tensor({2, 4, 8}, dtype::i8),
                                          .w = tensor({4, 4, 1}, dtype::i8),
                                          .dx = tensor({2, 4, 8}, dtype::i8)},
           type_mismatch, "i8");
}

TEST_F(DnnConvolutionRefusals, StateTheRulesOfNarrowTypes) {
  constexpr auto last = image_order::channels_last;
  const auto narrow = [&](dtype x, dtype y, std::int64_t channels, std::int64_t responses,
                          image_order order) {
    return dnn::convolution_forward{.x = tensor({2, channels, 4, 5}, x, order),
                                    .w = tensor({responses, channels, 2, 2}, x, order),
                                    .y = tensor({2, responses, 3, 4}, y, order)};
  };
  s.refuse(narrow(dtype::i8, dtype::i32, 6, 8, last), unsupported,
           "the channels of x must be a multiple of 4 for i8: x is [2, 6, 4, 5]");
  s.refuse(narrow(dtype::e4m3, dtype::e4m3, 16, 24, last), unsupported,
           "the channels of y must be a multiple of 16 for e4m3: y is [2, 24, 3, 4]");
  s.refuse(narrow(dtype::i8, dtype::f32, 8, 8, image_order::channels_first), layout_unsupported,
           "x must be channels-last for i8");
  dnn::convolution_forward r = narrow(dtype::i8, dtype::i8, 8, 8, last);
  r.w = tensor({8, 4, 2, 2}, dtype::i8, last);
  r.groups = 2;
  s.refuse(r, unsupported, "groups must be 1 for i8, it is 2");
  r = narrow(dtype::i8, dtype::i32, 8, 8, last);
  r.activation = dnn::activation::relu;
  s.refuse(r, unsupported,
           "nothing follows the sums of i8 in i32: alpha must be 1, beta 0, activation none, and "
           "bias not given");
  r = narrow(dtype::i8, dtype::i32, 8, 8, last);
  r.alpha = 2;
  s.refuse(r, unsupported, "nothing follows the sums of i8 in i32");
}

TEST_F(DnnConvolutionRefusals, NameStridesWithGapsAndWhatIsWrittenTwice) {
  dnn::convolution_forward r = good();
  r.x = s.tensor(dtype::f32, {2, 6, 8, 9}, {6 * 8 * 10, 80, 10, 1}).view;
  s.refuse(
      r, layout_unsupported,
      "x must have no gaps between its elements; it is [2, 6, 8, 9] with strides [480, 80, 10, "
      "1]");
  r = good();
  const any_tensor& both = s.tensor(dtype::f32, {2, 6, 6, 8}, {288, 48, 8, 1}).view;
  r.w = tensor({6, 6, 1, 1});
  r.x = r.y = both;
  s.refuse(r, aliasing, "y is written and must not overlap x");
  r = good();
  r.beta = 1;
  r.z = r.y.permute({0, 1, 3, 2}).value();
  s.refuse(r, shape_mismatch, "z");
}

TEST_F(DnnConvolutionRefusals, StateTheRulesOfTransposedConvolutions) {
  dnn::convolution_transposed r{
      .x = tensor({1, 4, 5}), .w = tensor({4, 3, 3}), .y = tensor({1, 3, 11}), .stride = {2}};
  s.run(r);
  r.output_padding = {1};
  s.refuse(
      r, shape_mismatch,
      "y must have extent 12 in dimension 2 because x has 5, w has 3, stride is 2, dilation 1, "
      "padding 0 and 0, output_padding 1; y is [1, 3, 11]");
  r.output_padding = {2};
  s.refuse(r, invalid_argument, "output_padding must be below stride, 2, in dimension 2; it is 2");
  r.output_padding = {0};
  r.padding = {6};
  s.refuse(r, shape_mismatch, "padding 6 and 6 leaves nothing of y in dimension 2");
  r.padding = {0};
  r.w = tensor({4, 2, 3});
  s.refuse(r, shape_mismatch, "w must have extent 3 in dimension 1, the channels of y");
}

// Sizes whose arithmetic would overflow are refused like others.
TEST_F(DnnConvolutionRefusals, SurviveHugeNumbers) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  dnn::convolution_forward r = good();
  r.dilation = {most, most};
  s.refuse(r, shape_mismatch, "w exceeds the padded x");
  r.padding = {most, most};
  s.refuse(r, shape_mismatch, "y must have extent");
  dnn::convolution_transposed t{.x = tensor({1, 4, 5}),
                                .w = tensor({4, 3, 3}),
                                .y = tensor({1, 3, 11}),
                                .stride = {most},
                                .dilation = {most}};
  s.refuse(t, shape_mismatch, "y must have extent");
}

}  // namespace
}  // namespace troupe::conformance
