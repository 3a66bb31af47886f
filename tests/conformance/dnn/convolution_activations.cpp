#include "convolution_cases.hpp"

#include <cmath>

namespace troupe::conformance {
namespace {

// By type, because on a GPU every activation needs a plan of its own, which takes long to build.

std::vector<convolution_types> activated_types() {
  std::vector<convolution_types> all;
  for (const convolution_types& types : all_convolution_types)
    if (types.y != dtype::i32) all.push_back(types);
  return all;
}
class DnnConvolutionActivations : public testing::TestWithParam<convolution_types> {};
INSTANTIATE_TEST_SUITE_P(Every, DnnConvolutionActivations, testing::ValuesIn(activated_types()),
                         [](const auto& given) { return name_of(given.param); });
class DnnConvolutionActivationsOfFloats : public testing::TestWithParam<dtype> {};
INSTANTIATE_TEST_SUITE_P(Every, DnnConvolutionActivationsOfFloats,
                         testing::Values(dtype::f64, dtype::f32, dtype::f16, dtype::bf16),
                         [](const auto& given) { return std::string(to_string(given.param)); });

TEST_P(DnnConvolutionActivations, FollowBiasAndResidual) {
  const convolution_types types = GetParam();
  for (int kind = 0; kind <= 10; ++kind) {
    for (const added_image z :
         {added_image::nothing, added_image::another, added_image::y_itself}) {
      const bool integers = types.x == dtype::i8;
      const convolution_case c{.types = types,
                               .channels = 16,
                               .responses = 16,
                               .padding = {1, 0},
                               .order = image_order::channels_last,
                               .alpha = integers                    ? 0.0001
                                        : z == added_image::another ? 0.25
                                                                    : 1,
                               .beta = z == added_image::nothing ? 0
                                       : integers                ? 0.02
                                                                 : 1.5,
                               .z = z,
                               .bias = true,
                               .activation = static_cast<dnn::activation>(kind),
                               .keeps_layouts = z == added_image::another};
      run_forward(c);
      if (!types.forward_only) run_transposed(c);
      if (HasFailure()) return;
    }
  }
}

// No activation makes a number of NaN, which would hide what went wrong before.
TEST_P(DnnConvolutionActivationsOfFloats, KeepNaN) {
  const dtype type = GetParam();
  for (int kind = 0; kind <= 10; ++kind) {
    for (const image_order order : {image_order::channels_first, image_order::channels_last}) {
      scene s;
      s.name(std::string(to_string(type)) + " activation " + std::to_string(kind));
      auto& x = image_tensor(s, type, {1, 16, 8, 8}, order);
      auto& w = image_tensor(s, type, {16, 16, 3, 3}, order);
      auto& y = image_tensor(s, type, {1, 16, 6, 6}, order);
      auto& larger = image_tensor(s, type, {1, 16, 10, 10}, order);
      s.fill(x, number(std::nan("")));
      const auto activation = static_cast<dnn::activation>(kind);
      dnn::convolution_forward forward{.x = x.view, .w = w.view, .y = y.view};
      forward.activation = activation;
      if (s.run_if_offered(forward)) {
        for (const number& element : s.elements_now(y))
          ASSERT_TRUE(std::isnan(element.real())) << s.note();
      }
      dnn::convolution_transposed transposed{.x = x.view, .w = w.view, .y = larger.view};
      transposed.activation = activation;
      if (s.run_if_offered(transposed)) {
        for (const number& element : s.elements_now(larger))
          ASSERT_TRUE(std::isnan(element.real())) << s.note();
      }
    }
  }
}

// x is exact, and small: all that is off is the activation, of whose digits none may be lost.
TEST_P(DnnConvolutionActivationsOfFloats, OfSmallNumbersHaveAllTheirDigits) {
  const dtype type = GetParam();
  for (int kind = 0; kind <= 10; ++kind) {
    for (const bool transposed : {false, true}) {
      scene s;
      s.name(std::string(to_string(type)) + " activation " + std::to_string(kind) +
             (transposed ? " transposed" : ""));
      auto& x = image_tensor(s, type, {1, 1, 64}, image_order::channels_first);
      auto& w = image_tensor(s, type, {1, 1, 1}, image_order::channels_first);
      auto& y = image_tensor(s, type, {1, 1, 64}, image_order::channels_first);
      std::vector<number> small(64);
      for (std::size_t i = 0; i < small.size(); ++i)
        small[i] = std::ldexp(i % 2 == 0 ? 1.25 : -1.25, -1 - static_cast<int>(i / 6));
      s.fill(x, small);
      s.fill(w, number(1));
      const auto activation = static_cast<dnn::activation>(kind);
      const auto run = [&](auto r) {
        r.x = x.view;
        r.w = w.view;
        r.y = y.view;
        r.activation = activation;
        return s.run_if_offered(r);
      };
      if (!(transposed ? run(dnn::convolution_transposed{}) : run(dnn::convolution_forward{})))
        continue;
      const std::vector<number> now = s.elements_now(y);
      for (std::size_t i = 0; i < now.size(); ++i) {
        const double expected = reference_activation(activation, x.values[i].real(), 6, 0.01, 1);
        const double accuracy = type == dtype::f64 ? 1e-15 : 4e-7;
        ASSERT_NEAR(now[i].real(), expected,
                    (epsilon(type) + accuracy) * std::abs(expected) + smallest(type))
            << "element " << i << s.note();
      }
    }
  }
}

}  // namespace
}  // namespace troupe::conformance
