#include "convolution_cases.hpp"

#include <cmath>

namespace troupe::conformance {
namespace {

using run_function = void (*)(const convolution_case&);

/// The direction of a request.
enum class direction : std::uint8_t { forward, backward_data, backward_filter, transposed };
constexpr direction directions[] = {direction::forward, direction::backward_data,
                                    direction::backward_filter, direction::transposed};
constexpr run_function run_of(direction which) {
  switch (which) {
    case direction::forward:
      return run_forward;
    case direction::backward_data:
      return run_backward_data;
    case direction::backward_filter:
      return run_backward_filter;
    case direction::transposed:
      return run_transposed;
  }
  return run_forward;
}
constexpr const char* name_of(direction which) {
  constexpr const char* names[] = {"forward", "backward_data", "backward_filter", "transposed"};
  return names[static_cast<std::size_t>(which)];
}

/// A case for the gradients, which nothing follows.
convolution_case gradient_of(convolution_case c) {
  c.activation = dnn::activation::none;
  c.bias = false;
  c.z = added_image::nothing;
  return c;
}
void run_direction(run_function run, convolution_case c) {
  if (run != run_forward && c.types.forward_only) return;
  run(run == run_backward_data || run == run_backward_filter ? gradient_of(c) : c);
}

constexpr int random_convolutions = 60;  // for each direction and type

// On a GPU almost every case needs a plan of its own, which takes longer to build than the case
// takes otherwise. So that no test has many hundred of them, each direction is a test by itself,
// and of random cases each type, too.
struct direction_and_types {
  direction which;
  convolution_types types;
};
std::vector<direction_and_types> directions_and_types() {
  std::vector<direction_and_types> all;
  for (const direction which : directions) {
    for (const convolution_types& types : all_convolution_types) {
      if (which == direction::forward || !types.forward_only) all.push_back({which, types});
    }
  }
  return all;
}

class DnnConvolutionTo : public testing::TestWithParam<direction> {};
INSTANTIATE_TEST_SUITE_P(Every, DnnConvolutionTo, testing::ValuesIn(directions),
                         [](const auto& given) { return std::string(name_of(given.param)); });
class DnnConvolutionOf : public testing::TestWithParam<direction_and_types> {};
INSTANTIATE_TEST_SUITE_P(Every, DnnConvolutionOf, testing::ValuesIn(directions_and_types()),
                         [](const auto& given) {
                           return name_of(given.param.which) + ("_" + name_of(given.param.types));
                         });

TEST_P(DnnConvolutionOf, RandomCasesAgreeWithTheDefinition) {
  std::mt19937_64 random(test_seed());
  for (int i = 0; i < random_convolutions; ++i) {
    run_direction(run_of(GetParam().which), random_convolution(random, GetParam().types));
    if (HasFailure()) return;
  }
}

TEST(DnnConvolution, TakesEveryOrderOfDimensions) {
  for (const convolution_types& types : all_convolution_types) {
    for (const image_order order : image_orders) {
      if (types.forward_only && order != image_order::channels_last) continue;
      for (const numbers& in : {numbers{9}, numbers{6, 7}, numbers{4, 5, 3}}) {
        for (const run_function run :
             {run_forward, run_backward_data, run_backward_filter, run_transposed}) {
          run_direction(run, {.types = types,
                              .channels = 16,
                              .responses = 16,
                              .in = in,
                              .filter = numbers(in.size(), 3),
                              .padding = {1},
                              .order = order});
          if (HasFailure()) return;
        }
      }
    }
  }
}

// Larger than a block of the loops in every direction, with a rest.
TEST_P(DnnConvolutionTo, WorksOnBlocks) {
  for (const dtype type : {dtype::f64, dtype::f32, dtype::bf16}) {
    for (const image_order order : {image_order::channels_first, image_order::channels_last}) {
      run_direction(run_of(GetParam()), {.types = {type, type, type},
                                         .n = 2,
                                         .channels = 37,
                                         .responses = 203,
                                         .in = {19, 17},
                                         .filter = {3, 3},
                                         .padding = {1},
                                         .order = order});
      if (HasFailure()) return;
    }
  }
}
TEST(DnnConvolution, WorksOnBlocksOfIntegers) {
  run_forward({.types = all_convolution_types[4],
               .channels = 36,
               .responses = 204,
               .in = {19, 17},
               .filter = {3, 3},
               .padding = {1},
               .order = image_order::channels_last});
}

TEST_P(DnnConvolutionTo, TakesEdgesOfSpace) {
  const convolution_case cases[] = {
      {.n = 0},
      {.n = 1, .channels = 1, .responses = 1, .in = {1}, .filter = {1}},
      {.in = {1, 1}, .filter = {3, 3}, .padding = {1}},
      {.in = {2, 3}, .filter = {1, 1}, .padding = {9, 7}, .post_padding = {0, 11}},
      // Something is added to sums of nothing.
      {.channels = 1,
       .responses = 1,
       .in = {2, 2, 4},
       .filter = {1, 1, 3},
       .stride = {3},
       .padding = {2, 2, 0},
       .post_padding = {0},
       .beta = 1,
       .z = added_image::another,
       .bias = true},
      {.in = {5}, .filter = {2}, .stride = {7}},
      {.in = {5}, .filter = {2}, .stride = {2}, .dilation = {4}},
      {.in = {5}, .filter = {3}, .stride = {4}, .dilation = {2}, .padding = {3}},
      {.in = {12}, .filter = {3}, .stride = {6}, .dilation = {4}, .padding = {5}},
      {.channels = 1, .responses = 1, .groups = 8, .padding = {1}},
      {.channels = 1, .responses = 3, .groups = 5, .stride = {2}},
      {.in = {2, 300}, .filter = {2, 1}},
      {.in = {4, 4, 4}, .filter = {4, 4, 4}},
  };
  for (convolution_case c : cases) {
    for (const image_order order : image_orders) {
      for (const dtype type : {dtype::f64, dtype::f32, dtype::f16, dtype::bf16}) {
        c.order = order;
        c.types = {type, type, type};
        run_direction(run_of(GetParam()), c);
        if (HasFailure()) return;
      }
    }
  }
}

// A library may have one kernel for these, which stores several numbers at once.
TEST(DnnConvolution, TakesGroupsOfFewNarrowChannels) {
  for (const dtype type : {dtype::f16, dtype::bf16}) {
    for (int variant = 0; variant < 8; ++variant) {
      run_forward(
          {.types = {type, type, type},
           .n = (variant & 1) != 0 ? 1 : 2,  // deterministic: 2
           .channels = 2,
           .responses = 4,
           .groups = 3,
           .in = {5},
           .filter = {4},
           .stride = {2},
           .padding = {2},
           .order = (variant & 2) != 0 ? image_order::channels_last : image_order::channels_first,
           .alpha = 0.75,
           .bias = true,
           .activation = dnn::activation::gelu_tanh,
           .tuning = (variant & 4) != 0 ? dnn::tuning::timed : dnn::tuning::heuristic,
           .keeps_layouts = true});
      if (HasFailure()) return;
    }
  }
}

TEST(DnnConvolution, TakesTf32) {
  for (const run_function run :
       {run_forward, run_backward_data, run_backward_filter, run_transposed}) {
    run_direction(run, {.channels = 8, .responses = 8, .math = dnn::math_mode::tf32});
  }
}

// Without images gradients are only scaled.
TEST(DnnConvolution, OfNoImagesTheGradientOfTheFilterIsTheOldOne) {
  for (const double beta : {0.0, 0.5}) {
    convolution_case c{.n = 0, .beta = beta};
    run_backward_filter(c);
  }
}

TEST(DnnConvolution, ResultsOutOfRangeSaturate) {
  for (const convolution_types& types : all_convolution_types) {
    if (types.y != dtype::i8 && types.y != dtype::e4m3) continue;
    for (const double sign : {1.0, -1.0}) {
      scene s;
      auto& x = image_tensor(s, types.x, {1, 16, 4}, image_order::channels_last);
      auto& w = image_tensor(s, types.x, {16, 16, 2}, image_order::channels_last);
      auto& y = image_tensor(s, types.y, {1, 16, 3}, image_order::channels_last);
      s.fill(x, number(100 * sign));
      s.fill(w, number(100));
      if (!s.run_if_offered(dnn::convolution_forward{.x = x.view, .w = w.view, .y = y.view}))
        continue;
      const double limit = types.y == dtype::e4m3 ? 448 : sign > 0 ? 127 : 128;
      for (const number& element : s.elements_now(y))
        ASSERT_EQ(element.real(), sign * limit) << s.note();
    }
  }
}

// Odd sums above 2^24, which f32 does not hold; and beyond 2^31, where they begin again.
TEST(DnnConvolution, AddsIntegersExactly) {
  scene s;
  const std::int64_t channels = 65536 * 4;
  auto& x = image_tensor(s, dtype::i8, {1, channels, 1}, image_order::channels_last);
  auto& w = image_tensor(s, dtype::i8, {4, channels, 1}, image_order::channels_last);
  auto& y = image_tensor(s, dtype::i32, {1, 4, 1}, image_order::channels_last);
  s.fill(x, number(-128));
  std::vector<number> rows(w.values.size(), number(-128));
  rows[0] = -127;
  for (std::size_t i = static_cast<std::size_t>(channels); i < rows.size(); ++i)
    rows[i] = i % 4 == 0 ? 1 : 0;
  s.fill(w, rows);
  if (!s.run_if_offered(dnn::convolution_forward{.x = x.view, .w = w.view, .y = y.view})) return;
  const std::vector<number> sums = s.elements_now(y);
  const std::int64_t all = channels * 128 * 128 - 128;
  EXPECT_EQ(sums[0].real(), static_cast<std::int32_t>(all));
  EXPECT_EQ(sums[1].real(), static_cast<double>(-128 * channels / 4));
}

/// Runs a direction on the same numbers in any order; images and filter of this shape. Empty where
/// a GPU's library has no kernel.
std::vector<number> convolved_in(run_function which, dtype type, image_order order) {
  constexpr std::int64_t channels = 64;
  std::mt19937_64 random(7);  // the same in each order
  scene s;
  s.name(std::string(to_string(type)) + " in order " + std::to_string(static_cast<int>(order)));
  s.keep_layouts();
  const auto drawn = [&](const numbers& extents) -> test_tensor& {
    auto& t = image_tensor(s, type, extents, order);
    std::vector<number> values(t.values.size());
    for (number& v : values)
      v = std::uniform_real_distribution<double>(-1, 1)(random);
    s.fill(t, values);
    return t;
  };
  auto& image = drawn({2, channels, 15, 14});
  auto& filter = drawn({channels, channels, 3, 3});
  auto& response = drawn({2, channels, 15, 14});
  const any_tensor& x = image.view;
  const any_tensor& w = filter.view;
  const any_tensor& y = response.view;
  const auto elements = [&](const auto& r, const test_tensor& of) {
    return s.run_if_offered(r) ? s.elements_now(of) : std::vector<number>();
  };
  if (which == run_forward)
    return elements(dnn::convolution_forward{.x = x, .w = w, .y = y, .padding = {1}}, response);
  if (which == run_backward_data)
    return elements(dnn::convolution_backward_data{.dy = y, .w = w, .dx = x, .padding = {1}},
                    image);
  if (which == run_backward_filter) {
    return elements(dnn::convolution_backward_filter{.x = x, .dy = y, .dw = w, .padding = {1}},
                    filter);
  }
  return elements(dnn::convolution_transposed{.x = y, .w = w, .y = x, .padding = {1}}, image);
}

// On the CPU oneDNN takes two of the orders, and the loops of our own the other one: each checks
// the other.
TEST(DnnConvolution, IsTheSameInEveryOrder) {
  for (const run_function run :
       {run_forward, run_backward_data, run_backward_filter, run_transposed}) {
    for (const dtype type : {dtype::f32, dtype::bf16}) {
      const std::vector<number> first = convolved_in(run, type, image_order::channels_first);
      for (const image_order order : {image_order::channels_last, image_order::mixed}) {
        const std::vector<number> other = convolved_in(run, type, order);
        if (first.empty() || other.empty()) continue;
        ASSERT_EQ(first.size(), other.size());
        for (std::size_t i = 0; i < first.size(); ++i) {
          const double off = std::abs(first[i] - other[i]);
          // Sums of 576 products below 1, or 420, in another order, or by Winograd's products.
          ASSERT_LE(off, 2 * epsilon(type) * std::abs(first[i]) + 2e-4)
              << "element " << i << " in " << to_string(type);
        }
      }
    }
  }
}

// Each request computes the gradient of another one: central differences of Σ y · g, in f64.
TEST(DnnConvolution, GradientsAreThoseOfForward) {
  std::mt19937_64 random(test_seed());
  for (int i = 0; i < 8; ++i) {
    convolution_case c = gradient_of(random_convolution(random, all_convolution_types[0]));
    c.n = std::max<std::int64_t>(c.n, 1);
    c.alpha = 1;
    c.beta = 0;
    scene s;
    s.name(c.text());
    auto& x = image_tensor(s, dtype::f64, c.image_extents(), c.order);
    auto& w = image_tensor(s, dtype::f64, c.filter_extents(), c.order);
    auto& y = image_tensor(s, dtype::f64, c.response_extents(), c.order);
    auto& g = image_tensor(s, dtype::f64, c.response_extents(), c.order);
    auto& dx = image_tensor(s, dtype::f64, c.image_extents(), c.order);
    auto& dw = image_tensor(s, dtype::f64, c.filter_extents(), c.order);
    const auto geometry = [&](auto r) {
      r.stride = c.stride;
      r.dilation = c.dilation;
      r.padding = c.padding;
      r.post_padding = c.post_padding;
      r.groups = c.groups;
      return r;
    };
    const auto loss = [&] {
      if (!s.run_if_offered(
              geometry(dnn::convolution_forward{.x = x.view, .w = w.view, .y = y.view}))) {
        return std::nan("");
      }
      const std::vector<number> out = s.elements_now(y);
      double sum = 0;
      for (std::size_t k = 0; k < out.size(); ++k)
        sum += out[k].real() * g.values[k].real();
      return sum;
    };
    if (std::isnan(loss())) continue;
    // Looked at before the next request, which begins with all memory as it was.
    (void)s.run_if_offered(
        geometry(dnn::convolution_backward_data{.dy = g.view, .w = w.view, .dx = dx.view}));
    const std::vector<number> by_image = s.elements_now(dx);
    (void)s.run_if_offered(
        geometry(dnn::convolution_backward_filter{.x = x.view, .dy = g.view, .dw = dw.view}));
    const std::vector<number> by_filter = s.elements_now(dw);
    if (HasFailure()) return;
    const auto expect_gradient = [&](test_tensor& of, const std::vector<number>& gradient) {
      constexpr double step = 0x1p-10;
      for (int probe = 0; probe < 4; ++probe) {
        const std::size_t at = random() % of.values.size();
        const std::vector<number> before = of.values;
        std::vector<number> moved = before;
        moved[at] = before[at] + step;
        s.fill(of, moved);
        const double above = loss();
        moved[at] = before[at] - step;
        s.fill(of, moved);
        const double below = loss();
        s.fill(of, before);
        // Linear, so that only rounding is off.
        EXPECT_NEAR((above - below) / (2 * step), gradient[at].real(), 1e-9) << s.note();
      }
    };
    expect_gradient(x, by_image);
    expect_gradient(w, by_filter);
  }
}

}  // namespace
}  // namespace troupe::conformance
