#include "convolution_cases.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <sstream>

namespace troupe::conformance {
namespace {

constexpr double upper = 1.25;
constexpr double slope = 0.125;
constexpr double elu_alpha = 0.75;

std::string text_of(const numbers& list) {
  std::string text = "[";
  for (const std::int64_t n : list)
    text += (text.size() == 1 ? "" : " ") + std::to_string(n);
  return text + "]";
}

std::int64_t product(const numbers& all) {
  return std::accumulate(all.begin(), all.end(), std::int64_t{1}, std::multiplies<>());
}

numbers with(std::int64_t first, std::int64_t second, const numbers& rest) {
  numbers all{first, second};
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

/// Calls `f(index)` for each index of these extents.
template <class F>
void for_each_index(const numbers& extents, F f) {
  numbers index(extents.size());
  for (std::int64_t flat = 0; flat < product(extents); ++flat) {
    std::int64_t rest = flat;
    for (std::size_t d = extents.size(); d-- > 0;) {
      index[d] = rest % extents[d];
      rest /= extents[d];
    }
    f(index);
  }
}

std::int64_t flat_of(const numbers& index, const numbers& extents, std::int64_t flat) {
  for (std::size_t d = 0; d < extents.size(); ++d)
    flat = flat * extents[d] + index[d];
  return flat;
}

/// Calls `f(image, filter, response)` with the row-major places of three elements that go together.
template <class F>
void for_each_product(const convolution_case& c, F f) {
  const numbers out = c.out();
  for_each_index(out, [&](const numbers& o) {
    for_each_index(c.filter, [&](const numbers& tap) {
      numbers i(c.space());
      for (std::size_t d = 0; d < c.space(); ++d) {
        i[d] = o[d] * c.number(c.stride, d, 1) - c.number(c.padding, d, 0) +
               tap[d] * c.number(c.dilation, d, 1);
        if (i[d] < 0 || i[d] >= c.in[d]) return;
      }
      for (std::int64_t n = 0; n < c.n; ++n) {
        for (std::int64_t k = 0; k < c.groups * c.responses; ++k) {
          for (std::int64_t channel = 0; channel < c.channels; ++channel) {
            const std::int64_t of_image = k / c.responses * c.channels + channel;
            f(static_cast<std::size_t>(flat_of(i, c.in, n * c.groups * c.channels + of_image)),
              static_cast<std::size_t>(flat_of(tap, c.filter, k * c.channels + channel)),
              static_cast<std::size_t>(flat_of(o, out, n * c.groups * c.responses + k)));
          }
        }
      }
    });
  });
}

convolved zeros(const numbers& extents) {
  const auto count = static_cast<std::size_t>(product(extents));
  return {.values = std::vector<double>(count), .bound = std::vector<double>(count)};
}
void accumulate(convolved& to, std::size_t at, double term) {
  to.values[at] += term;
  to.bound[at] += std::abs(term);
}

template <class R>
void take_geometry(R& r, const convolution_case& c) {
  r.stride = c.stride;
  r.dilation = c.dilation;
  r.padding = c.padding;
  r.post_padding = c.post_padding;
  r.groups = c.groups;
  r.alpha = c.alpha;
  r.beta = c.beta;
  r.math = c.math;
  // Nothing else is stated to be the same on every run, but all of it has to be right.
  r.deterministic = c.n % 2 == 0;
  r.tuning = c.tuning;
}
template <class R>
void take_activation(R& r, const convolution_case& c) {
  using dnn::activation;
  r.activation = c.activation;
  if (c.activation == activation::clipped_relu) r.upper = upper;
  if (c.activation == activation::leaky_relu) r.slope = slope;
  if (c.activation == activation::elu) r.elu_alpha = elu_alpha;
}

dtype computed_in(const convolution_case& c) {
  if (c.math == dnn::math_mode::tf32) return dtype::f16;  // as many bits
  return c.types.x == dtype::f64 ? dtype::f64 : dtype::f32;
}

/// The largest slope of all activations, gelu's, rounded up.
constexpr double steepest = 1.2;

/// Compares what followed the sums in `got`, whose content was `z` if that was added.
void expect_convolved(scene& s, const convolution_case& c, const test_tensor& got, convolved sums,
                      const std::vector<number>* z, const std::vector<number>* bias,
                      std::int64_t bias_extent, std::int64_t terms) {
  const std::vector<number> now = s.elements_now(got);
  const dtype type = got.view.type();
  const auto row = static_cast<std::size_t>(std::max<std::int64_t>(
      1, got.view.count() / std::max<std::int64_t>(1, got.view.extent(0)) / got.view.extent(1)));
  for (std::size_t i = 0; i < now.size(); ++i) {
    double x = c.alpha * sums.values[i];
    double bound = std::abs(c.alpha) * sums.bound[i];
    if (z != nullptr) {
      x += c.beta * (*z)[i].real();
      bound += std::abs(c.beta * (*z)[i].real());
    }
    if (bias != nullptr) {
      const double added = (*bias)[i / row % static_cast<std::size_t>(bias_extent)].real();
      x += added;
      bound += std::abs(added);
    }
    double expected = reference_activation(c.activation, x, upper, slope, elu_alpha);
    const double limit = type == dtype::e4m3 ? 448 : type == dtype::i8 ? 127 : 0;
    if (limit != 0) expected = std::clamp(expected, type == dtype::i8 ? -128 : -limit, limit);
    const std::string where = "element " + std::to_string(i);
    if (type == dtype::i32) {
      ASSERT_EQ(now[i].real(), expected) << where << s.note();
    } else if (type == dtype::i8) {
      ASSERT_NEAR(now[i].real(), expected, 0.5 + 1e-5 * (1 + bound)) << where << s.note();
    } else {
      // The result of an activation is rounded, however small its input.
      const double made = c.activation == dnn::activation::none ? 0 : std::abs(expected);
      s.expect_near(type, now[i], expected, steepest * bound + made, terms, computed_in(c), where);
    }
    if (testing::Test::HasFailure()) return;  // the first wrong element says enough
  }
}

/// Runs a request with z, bias and activation: `sums` makes what they follow.
template <class R, class Sums>
void run_with_epilogue(const convolution_case& c, scene& s, R r, const numbers& extents,
                       std::int64_t terms, Sums sums) {
  if (c.keeps_layouts) s.keep_layouts();
  auto& y = image_tensor(s, c.types.y, extents, c.order);
  std::vector<number> z;
  if (c.z == added_image::another) {
    auto& other = image_tensor(s, c.types.y, extents, c.order);
    r.z = other.view;
    z = other.values;
  } else if (c.z == added_image::y_itself) {
    r.z = y.view;
    z = y.values;
  }
  std::vector<number> bias;
  if (c.bias) {
    auto& of = s.vector(c.types.bias, extents[1]);
    r.bias = of.view;
    bias = of.values;
  }
  r.y = y.view;
  take_geometry(r, c);
  take_activation(r, c);
  if (!s.run_if_offered(r)) return;
  expect_convolved(s, c, y, sums(), r.z.null() ? nullptr : &z, c.bias ? &bias : nullptr, extents[1],
                   terms);
}

std::int64_t from(std::mt19937_64& random, std::int64_t least, std::int64_t most) {
  return std::uniform_int_distribution<std::int64_t>(least, most)(random);
}
bool one_in(std::mt19937_64& random, std::int64_t n) { return from(random, 1, n) == 1; }

}  // namespace

std::int64_t convolution_case::number(const numbers& list, std::size_t d,
                                      std::int64_t otherwise) noexcept {
  return list.empty() ? otherwise : list.size() == 1 ? list[0] : list[d];
}
std::int64_t convolution_case::after(std::size_t d) const noexcept {
  return post_padding.empty() ? number(padding, d, 0) : number(post_padding, d, 0);
}

numbers convolution_case::out() const {
  numbers all;
  for (std::size_t d = 0; d < space(); ++d) {
    const std::int64_t padded = in[d] + number(padding, d, 0) + after(d);
    const std::int64_t reach = number(dilation, d, 1) * (filter[d] - 1) + 1;
    all.push_back(reach > padded ? 0 : (padded - reach) / number(stride, d, 1) + 1);
  }
  return all;
}
bool convolution_case::fits() const {
  return std::ranges::all_of(out(), [](std::int64_t extent) { return extent >= 1; });
}
numbers convolution_case::image_extents() const { return with(n, groups * channels, in); }
numbers convolution_case::filter_extents() const {
  return with(groups * responses, channels, filter);
}
numbers convolution_case::response_extents() const { return with(n, groups * responses, out()); }

std::string convolution_case::text() const {
  std::ostringstream text;
  text << to_string(types.x) << " to " << to_string(types.y) << " image "
       << text_of(image_extents()) << " filter " << text_of(filter_extents()) << " stride "
       << text_of(stride) << " dilation " << text_of(dilation) << " padding " << text_of(padding)
       << " " << text_of(post_padding) << " groups " << groups << " order "
       << static_cast<int>(order) << " alpha " << alpha << " beta " << beta << " z "
       << static_cast<int>(z) << " bias " << bias << " activation " << static_cast<int>(activation);
  return text.str();
}

convolution_case random_convolution(std::mt19937_64& random, const convolution_types& types) {
  convolution_case c;
  do {
    c = {.types = types};
    const auto space = static_cast<std::size_t>(from(random, 1, 3));
    c.n = one_in(random, 10) ? 0 : from(random, 1, 3);
    c.in.assign(space, 0);
    c.filter.assign(space, 0);
    for (std::size_t d = 0; d < space; ++d) {
      c.in[d] = from(random, 1, space == 3 ? 5 : 8);
      c.filter[d] = from(random, 1, space == 3 ? 3 : 4);
    }
    const auto list = [&](std::int64_t least, std::int64_t most) {
      const std::int64_t kind = from(random, 0, 3);
      numbers all(kind == 0 ? 0 : kind == 1 ? 1 : space);
      for (std::int64_t& one : all)
        one = from(random, least, most);
      return all;
    };
    c.stride = list(1, 3);
    c.dilation = list(1, 3);
    c.padding = list(0, one_in(random, 6) ? 9 : 2);
    if (one_in(random, 2)) c.post_padding = list(0, 3);
    const bool narrow = types.x == dtype::i8 || types.x == dtype::e4m3;
    if (narrow) {
      const std::int64_t unit = types.x == dtype::i8 ? 4 : 16;
      c.channels = unit * from(random, 1, 2);
      c.responses = unit * from(random, 1, 3);
      c.order = image_order::channels_last;
    } else {
      c.groups = from(random, 1, 3);
      c.channels = one_in(random, 3) ? 1 : from(random, 1, 5);
      c.responses = one_in(random, 3) ? 1 : from(random, 1, 9);
      c.order = image_orders[from(random, 0, 2)];
    }
    if (types.y == dtype::i32) continue;
    c.alpha = one_in(random, 2) ? 1 : types.x == dtype::i8 ? 0.0078125 : 0.75;
    if (one_in(random, 3)) {
      c.z = one_in(random, 2) ? added_image::another : added_image::y_itself;
      c.beta = one_in(random, 2) ? 1 : -0.5;
    }
    c.bias = one_in(random, 2);
    if (one_in(random, 2)) c.activation = static_cast<dnn::activation>(from(random, 1, 10));
  } while (!c.fits());
  return c;
}

test_tensor& image_tensor(scene& s, dtype type, const numbers& extents, image_order order) {
  std::vector<std::size_t> outermost_first(extents.size());
  std::iota(outermost_first.begin(), outermost_first.end(), std::size_t{0});
  if (order == image_order::channels_last) {
    std::rotate(outermost_first.begin() + 1, outermost_first.begin() + 2, outermost_first.end());
  } else if (order == image_order::mixed) {
    std::ranges::shuffle(outermost_first, s.generator());
  }
  numbers strides(extents.size());
  std::int64_t step = 1;
  for (std::size_t i = outermost_first.size(); i-- > 0;) {
    strides[outermost_first[i]] = step;
    step *= std::max<std::int64_t>(1, extents[outermost_first[i]]);
  }
  return s.tensor(type, extents, strides);
}

convolved reference_forward(const convolution_case& c, std::span<const number> image,
                            std::span<const number> filter) {
  convolved y = zeros(c.response_extents());
  for_each_product(c, [&](std::size_t i, std::size_t f, std::size_t r) {
    accumulate(y, r, image[i].real() * filter[f].real());
  });
  return y;
}
convolved reference_backward_data(const convolution_case& c, std::span<const number> response,
                                  std::span<const number> filter) {
  convolved dx = zeros(c.image_extents());
  for_each_product(c, [&](std::size_t i, std::size_t f, std::size_t r) {
    accumulate(dx, i, response[r].real() * filter[f].real());
  });
  return dx;
}
convolved reference_backward_filter(const convolution_case& c, std::span<const number> image,
                                    std::span<const number> response) {
  convolved dw = zeros(c.filter_extents());
  for_each_product(c, [&](std::size_t i, std::size_t f, std::size_t r) {
    accumulate(dw, f, image[i].real() * response[r].real());
  });
  return dw;
}

double reference_activation(dnn::activation kind, double x, double most, double below,
                            double alpha) {
  using enum dnn::activation;
  switch (kind) {
    case none:
      return x;
    case relu:
      return x > 0 ? x : 0;
    case clipped_relu:
      return std::min(x > 0 ? x : 0, most);
    case leaky_relu:
      return x > 0 ? x : below * x;
    case elu:
      return x > 0 ? x : alpha * std::expm1(x);
    case gelu:
      return x * std::erfc(-x / std::numbers::sqrt2) / 2;
    case gelu_tanh:
      return x / 2 *
             (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * std::pow(x, 3))));
    case silu:
      return x / (1 + std::exp(-x));
    case sigmoid:
      return 1 / (1 + std::exp(-x));
    case tanh:
      return std::tanh(x);
    case softplus:
      return std::log1p(std::exp(x));
  }
  return x;
}

void run_forward(const convolution_case& c) {
  scene s;
  s.name(c.text());
  auto& x = image_tensor(s, c.types.x, c.image_extents(), c.order);
  auto& w = image_tensor(s, c.types.x, c.filter_extents(), c.order);
  run_with_epilogue(c, s, dnn::convolution_forward{.x = x.view, .w = w.view}, c.response_extents(),
                    c.channels * product(c.filter),
                    [&] { return reference_forward(c, x.values, w.values); });
}

void run_transposed(const convolution_case& c) {
  scene s;
  s.name("transposed, image and response change places: " + c.text());
  auto& x = image_tensor(s, c.types.x, c.response_extents(), c.order);
  auto& w = image_tensor(s, c.types.x, c.filter_extents(), c.order);
  dnn::convolution_transposed r{.x = x.view, .w = w.view};
  // The extents of what makes a response are several; this says which.
  for (std::size_t d = 0; d < c.space(); ++d) {
    const std::int64_t room = c.in[d] + c.number(c.padding, d, 0) + c.after(d) -
                              c.number(c.dilation, d, 1) * (c.filter[d] - 1) - 1;
    r.output_padding.push_back(room % c.number(c.stride, d, 1));
  }
  run_with_epilogue(c, s, r, c.image_extents(), c.responses * product(c.filter),
                    [&] { return reference_backward_data(c, x.values, w.values); });
}

void run_backward_data(const convolution_case& c) {
  scene s;
  s.name("backward data: " + c.text());
  auto& dy = image_tensor(s, c.types.x, c.response_extents(), c.order);
  auto& w = image_tensor(s, c.types.x, c.filter_extents(), c.order);
  auto& dx = image_tensor(s, c.types.x, c.image_extents(), c.order);
  const std::vector<number> before = dx.values;
  dnn::convolution_backward_data r{.dy = dy.view, .w = w.view, .dx = dx.view};
  take_geometry(r, c);
  if (!s.run_if_offered(r)) return;
  expect_convolved(s, c, dx, reference_backward_data(c, dy.values, w.values),
                   c.beta == 0 ? nullptr : &before, nullptr, 1, c.responses * product(c.filter));
}

void run_backward_filter(const convolution_case& c) {
  scene s;
  s.name("backward filter: " + c.text());
  auto& x = image_tensor(s, c.types.x, c.image_extents(), c.order);
  auto& dy = image_tensor(s, c.types.x, c.response_extents(), c.order);
  auto& dw = image_tensor(s, c.types.x, c.filter_extents(), c.order);
  const std::vector<number> before = dw.values;
  dnn::convolution_backward_filter r{.x = x.view, .dy = dy.view, .dw = dw.view};
  take_geometry(r, c);
  if (!s.run_if_offered(r)) return;
  expect_convolved(s, c, dw, reference_backward_filter(c, x.values, dy.values),
                   c.beta == 0 ? nullptr : &before, nullptr, 1, c.n * product(c.out()));
}

}  // namespace troupe::conformance
