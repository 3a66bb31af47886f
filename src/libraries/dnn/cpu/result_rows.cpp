#include "libraries/dnn/cpu/result_rows.hpp"

#include "libraries/dnn/cpu/elements.hpp"
#include "libraries/memory/shared/share_out.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <type_traits>

namespace troupe::cpu {
namespace {

template <class T, class Real>
void load(const std::byte* from, const point* places, std::int64_t n, Real* to) {
  const T* const first = reinterpret_cast<const T*>(from);
  for (std::int64_t j = 0; j < n; ++j)
    to[j] = widened<Real>(first[places[j].offset]);
}
template <class T, class Real>
void keep(const Real* from, std::int64_t n, std::byte* to, const point* places) {
  T* const first = reinterpret_cast<T*>(to);
  for (std::int64_t j = 0; j < n; ++j)
    first[places[j].offset] = narrowed<T>(from[j]);
}

/// Calls `run` with a value of the type of elements that results have.
template <class Run>
void for_result_type(dtype type, Run run) {
  switch (type) {
    case dtype::f64:
      return run(double{});
    case dtype::f32:
      return run(float{});
    case dtype::f16:
      return run(f16{});
    case dtype::bf16:
      return run(bf16{});
    case dtype::e4m3:
      return run(e4m3{});
    case dtype::i8:
      return run(std::int8_t{});
    default:
      return;  // every other type is refused, or has sums as results
  }
}

template <class Real, class Function>
void each(Real* values, std::int64_t n, Function f) {
  for (std::int64_t j = 0; j < n; ++j)
    values[j] = f(values[j]);
}

template <class Real>
Real gelu_tanh(Real x) noexcept {
  // Source: Hendrycks, Gimpel, "Gaussian Error Linear Units", 2016.
  const Real inner =
      std::sqrt(Real{2} / std::numbers::pi_v<Real>) * (x + static_cast<Real>(0.044715) * x * x * x);
  return x / 2 * (1 + std::tanh(inner));
}

template <class Real>
void activate(const epilogue& after, Real* values, std::int64_t n) {
  using enum dnn::activation;
  const auto upper = static_cast<Real>(after.upper);
  const auto slope = static_cast<Real>(after.slope);
  const auto elu_alpha = static_cast<Real>(after.elu_alpha);
  // NaN is not at most 0.
  switch (after.activation) {
    case none:
      return;
    case relu:
      return each(values, n, [](Real x) { return x <= 0 ? Real{0} : x; });
    case clipped_relu:
      return each(values, n, [=](Real x) { return x <= 0 ? Real{0} : x >= upper ? upper : x; });
    case leaky_relu:
      return each(values, n, [=](Real x) { return x <= 0 ? slope * x : x; });
    case elu:
      return each(values, n, [=](Real x) { return x <= 0 ? elu_alpha * std::expm1(x) : x; });
    case gelu:
      return each(values, n,
                  [](Real x) { return x / 2 * std::erfc(-x * (std::numbers::sqrt2_v<Real> / 2)); });
    case gelu_tanh:
      return each(values, n, [](Real x) { return cpu::gelu_tanh(x); });
    case silu:
      return each(values, n, [](Real x) { return x / (1 + std::exp(-x)); });
    case sigmoid:
      return each(values, n, [](Real x) { return 1 / (1 + std::exp(-x)); });
    case tanh:
      return each(values, n, [](Real x) { return std::tanh(x); });
    case softplus:
      return each(values, n,
                  [](Real x) { return std::max(x, Real{0}) + std::log1p(std::exp(-std::abs(x))); });
  }
}

}  // namespace

void activate_dense(const epilogue& after, const any_tensor& t) {
  constexpr std::int64_t block = 4096;
  constexpr std::int64_t blocks_per_thread = 32;
  const std::int64_t blocks = (t.count() + block - 1) / block;
  share_out(threads_for(blocks, blocks, blocks_per_thread), blocks,
            [&](std::int64_t, std::int64_t which) {
              const std::int64_t first = which * block;
              const std::int64_t n = std::min(block, t.count() - first);
              if (t.type() == dtype::f32) return activate(after, t.data<float>() + first, n);
              std::array<float, block> values;
              bf16* const elements = t.data<bf16>() + first;
              std::transform(elements, elements + n, values.begin(), widened<float, bf16>);
              activate(after, values.data(), n);
              std::transform(values.begin(), values.begin() + n, elements, narrowed<bf16, float>);
            });
}

template <class Sum>
result_rows<Sum>::result_rows(const epilogue& after, dtype type) noexcept
    : after_(after),
      type_(type),
      alpha_(after.alpha.as<real>()),
      beta_(after.beta.as<real>()),
      plain_(alpha_ == 1 && after.z.null() && after.bias.null() &&
             after.activation == dnn::activation::none) {}

template <class Sum>
void result_rows<Sum>::store(Sum* sums, real* scratch, std::int64_t n, std::int64_t row,
                             std::byte* c, const point* c_places, const std::byte* z,
                             const point* z_places) const {
  real* values = nullptr;
  if constexpr (std::same_as<Sum, std::uint32_t>) {
    if (type_ == dtype::i32) {
      auto* const first = reinterpret_cast<std::uint32_t*>(c);
      for (std::int64_t j = 0; j < n; ++j)
        first[c_places[j].offset] = sums[j];
      return;
    }
    // Each sum makes way for its value, which has as many bytes.
    values = scratch;
    for (std::int64_t j = 0; j < n; ++j)
      values[j] = static_cast<real>(static_cast<std::int32_t>(sums[j]));
  } else {
    values = sums;
  }
  if (!plain_) {
    for (std::int64_t j = 0; j < n; ++j)
      values[j] *= alpha_;
    if (z != nullptr) {
      // For integer sums the scratch is in use: their values replace the sums.
      real* const added =
          std::same_as<Sum, std::uint32_t> ? reinterpret_cast<real*>(sums) : scratch;
      for_result_type(type_, [&]<class T>(T) { load<T>(z, z_places, n, added); });
      for (std::int64_t j = 0; j < n; ++j)
        values[j] += beta_ * added[j];
    }
    if (!after_.bias.null()) {
      real bias{};
      const point place{.offset = row * after_.bias.stride(0), .place = {}};
      for_result_type(after_.bias.type(),
                      [&]<class T>(T) { load<T>(after_.bias.address(), &place, 1, &bias); });
      for (std::int64_t j = 0; j < n; ++j)
        values[j] += bias;
    }
    activate(after_, values, n);
  }
  for_result_type(type_, [&]<class T>(T) { keep<T>(values, n, c, c_places); });
}

template class result_rows<float>;
template class result_rows<double>;
template class result_rows<std::uint32_t>;

}  // namespace troupe::cpu
