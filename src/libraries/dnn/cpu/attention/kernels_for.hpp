#pragma once

// The loops of attention for the processor that the including source is compiled for. It defines
// KERNELS, the name of its set, and VECTOR_BYTES.

#include "libraries/dnn/cpu/attention/kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <type_traits>

namespace troupe::cpu::attention {
namespace {

template <class T>
struct vector_type;
template <>
struct vector_type<float> {
  using reals [[gnu::vector_size(VECTOR_BYTES)]] = float;
  using integers [[gnu::vector_size(VECTOR_BYTES)]] = std::int32_t;
};
template <>
struct vector_type<double> {
  using reals [[gnu::vector_size(VECTOR_BYTES)]] = double;
  using integers [[gnu::vector_size(VECTOR_BYTES)]] = std::int64_t;
};
template <class T>
using vec = typename vector_type<T>::reals;
template <class T>
inline constexpr std::int64_t width = VECTOR_BYTES / static_cast<std::int64_t>(sizeof(T));

template <class T>
[[gnu::always_inline]] inline vec<T> load_vector(const T* from) noexcept {
  vec<T> v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}
template <class T>
[[gnu::always_inline]] inline void store_vector(T* to, vec<T> v) noexcept {
  std::memcpy(to, &v, sizeof(v));
}
template <class T>
[[gnu::always_inline]] inline vec<T> all(T value) noexcept {
  return value - vec<T>{};  // unlike a sum with 0, this is the value also of −0
}

// Products. -------------------------------------------------------------------------------------

// Registers hold a block of the product while the depth is gone through.
constexpr std::int64_t most_rows = 6;
constexpr std::int64_t most_vectors = VECTOR_BYTES == 64 ? 4 : 2;

template <class T, int Rows, int Vectors>
void multiply_block(const left_factor<T>& a, const T* b, std::int64_t b_step, T* c,
                    std::int64_t c_step, std::int64_t depth, bool add) {
  vec<T> sum[std::size_t{Rows}][std::size_t{Vectors}] = {};
  const T* left[std::size_t{Rows}];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
    left[r] = a.at + r * a.row_step;
  for (std::int64_t k = 0; k < depth; ++k) {
    vec<T> right[std::size_t{Vectors}];
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v)
      right[v] = load_vector(b + v * width<T>);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const vec<T> factor = all(left[r][k * a.depth_step]);
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v)
        sum[r][v] += factor * right[v];
    }
    b += b_step;
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) {
      T* const to = c + r * c_step + v * width<T>;
      store_vector(to, add ? load_vector(to) + sum[r][v] : sum[r][v]);
    }
  }
}

template <class T, int Vectors>
void multiply_columns(left_factor<T> a, const T* b, std::int64_t b_step, T* c, std::int64_t c_step,
                      std::int64_t rows, std::int64_t depth, bool add) {
  for (; rows >= most_rows; rows -= most_rows) {
    multiply_block<T, most_rows, Vectors>(a, b, b_step, c, c_step, depth, add);
    a.at += most_rows * a.row_step;
    c += most_rows * c_step;
  }
  switch (rows) {
    case 5:
      return multiply_block<T, 5, Vectors>(a, b, b_step, c, c_step, depth, add);
    case 4:
      return multiply_block<T, 4, Vectors>(a, b, b_step, c, c_step, depth, add);
    case 3:
      return multiply_block<T, 3, Vectors>(a, b, b_step, c, c_step, depth, add);
    case 2:
      return multiply_block<T, 2, Vectors>(a, b, b_step, c, c_step, depth, add);
    case 1:
      return multiply_block<T, 1, Vectors>(a, b, b_step, c, c_step, depth, add);
    default:
      return;
  }
}

template <class T>
void multiply(const left_factor<T>& a, const T* b, std::int64_t b_step, T* c, std::int64_t c_step,
              std::int64_t rows, std::int64_t columns, std::int64_t depth, bool add) {
  constexpr std::int64_t wide = most_vectors * width<T>;
  std::int64_t x = 0;
  for (; x + wide <= columns; x += wide)
    multiply_columns<T, most_vectors>(a, b + x, b_step, c + x, c_step, rows, depth, add);
  for (; x < columns; x += width<T>)
    multiply_columns<T, 1>(a, b + x, b_step, c + x, c_step, rows, depth, add);
}

template <class T, int Columns>
void dots_of(const T* a, const T* b, std::int64_t b_step, T* c, std::int64_t depth) {
  vec<T> sum[std::size_t{Columns}] = {};
  std::int64_t k = 0;
  for (; k + width<T> <= depth; k += width<T>) {
    const vec<T> left = load_vector(a + k);
#pragma GCC unroll 4
    for (int i = 0; i < Columns; ++i)
      sum[i] += left * load_vector(b + i * b_step + k);
  }
#pragma GCC unroll 4
  for (int i = 0; i < Columns; ++i) {
    T total = 0;
    for (std::int64_t lane = 0; lane < width<T>; ++lane)
      total += sum[i][lane];
    for (std::int64_t rest = k; rest < depth; ++rest)
      total += a[rest] * b[i * b_step + rest];
    c[i] = total;
  }
}

template <class T>
void dots(const T* a, std::int64_t a_step, const T* b, std::int64_t b_step, T* c, std::int64_t rows,
          std::int64_t columns, std::int64_t depth) {
  for (std::int64_t j = 0; j < rows; ++j, a += a_step, c += tile_rows) {
    std::int64_t i = 0;
    for (; i + 4 <= columns; i += 4)
      dots_of<T, 4>(a, b + i * b_step, b_step, c + i, depth);
    for (; i < columns; ++i)
      dots_of<T, 1>(a, b + i * b_step, b_step, c + i, depth);
  }
}

// Softmax. --------------------------------------------------------------------------------------

/// For x ≤ 88; 0 below −87.3, exactly 1 for 0. Source: S. L. Moshier, Cephes, expf.
[[gnu::always_inline]] inline vec<float> exponential(vec<float> x) noexcept {
  using integers = vector_type<float>::integers;
  const vec<float> least = all(-87.33654f);
  const auto tiny = x < least;
  x = tiny ? least : x;
  const vec<float> magic = all(12582912.0f);  // 1.5 · 2^23: rounds to an integer when added
  const vec<float> shifted = x * std::numbers::log2e_v<float> + magic;
  const vec<float> n = shifted - magic;
  // ln 2 in two parts, of which products of the first with n are exact.
  constexpr float upper = 355.0f / 512;
  vec<float> r = x - n * upper;
  r = r - n * -2.12194440e-4f;
  vec<float> y = all(1.9875691500e-4f);
  y = y * r + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = y * (r * r) + r + 1.0f;
  const auto power = (std::bit_cast<integers>(shifted) - std::bit_cast<integers>(magic) + 127)
                     << 23;
  return tiny ? vec<float>{} : y * std::bit_cast<vec<float>>(power);
}
[[gnu::always_inline]] inline vec<double> exponential(vec<double> x) noexcept {
  vec<double> y;
  for (std::int64_t i = 0; i < width<double>; ++i)
    y[i] = std::exp(x[i]);
  return y;
}

/// Near 0, where the difference would lose digits, a polynomial. Source: S. L. Moshier, Cephes,
/// tanhf.
[[gnu::always_inline]] inline vec<float> hyperbolic(vec<float> x) noexcept {
  const vec<float> square = x * x;
  vec<float> p = all(-5.70498872745e-3f);
  p = p * square + 2.06390887954e-2f;
  p = p * square - 5.37397155531e-2f;
  p = p * square + 1.33314422036e-1f;
  p = p * square - 3.33332819422e-1f;
  const vec<float> near = x + x * square * p;
  const vec<float> size = x < vec<float>{} ? -x : x;
  const vec<float> bound = all(20.0f);  // tanh is 1 there, and NaN stays NaN
  const vec<float> far = 1.0f - 2.0f / (exponential(2.0f * (size > bound ? bound : size)) + 1.0f);
  return size < all(0.625f) ? near : x < vec<float>{} ? -far : far;
}
[[gnu::always_inline]] inline vec<double> hyperbolic(vec<double> x) noexcept {
  vec<double> y;
  for (std::int64_t i = 0; i < width<double>; ++i)
    y[i] = std::tanh(x[i]);
  return y;
}

template <class T>
constexpr T minus_infinity = -std::numeric_limits<T>::infinity();

/// A vector of scores of one row of a block; `otherwise` at masked positions.
template <class T>
[[gnu::always_inline]] inline vec<T> unmasked(vec<T> x, std::int64_t key, std::int64_t column,
                                              const tile_masks<T>& masks, T otherwise) noexcept {
  const vec<T> j = all(static_cast<T>(key));
  const auto inside =
      (j >= load_vector(masks.first + column)) & (j < load_vector(masks.last + column));
  return inside ? x : all(otherwise);
}

template <class T>
void scale(T* scores, std::int64_t keys, std::int64_t columns, T factor,
           const tile_masks<T>& masks) {
  for (std::int64_t x = 0; x < columns; x += width<T>) {
    const vec<T> slope = masks.slope == nullptr ? vec<T>{} : load_vector(masks.slope + x);
    const vec<T> distance = masks.slope == nullptr ? vec<T>{} : load_vector(masks.distance + x);
    for (std::int64_t j = 0; j < keys; ++j) {
      T* const at = scores + j * tile_rows + x;
      vec<T> s = load_vector(at) * factor;
      if (masks.slope != nullptr) s += slope * (distance + static_cast<T>(j));
      store_vector(at, s);
    }
  }
}

template <class T>
void cap(T* scores, std::int64_t keys, std::int64_t columns, T cap, T* slopes) {
  for (std::int64_t j = 0; j < keys; ++j) {
    for (std::int64_t x = 0; x < columns; x += width<T>) {
      const std::int64_t at = j * tile_rows + x;
      const vec<T> part = hyperbolic(load_vector(scores + at) / cap);
      store_vector(scores + at, cap * part);
      if (slopes != nullptr) store_vector(slopes + at, 1 - part * part);
    }
  }
}

template <class T>
void soften(T* scores, std::int64_t keys, std::int64_t columns, const tile_masks<T>& masks,
            const running_softmax<T>& softmax) {
  for (std::int64_t x = 0; x < columns; x += width<T>) {
    const vec<T> before = load_vector(softmax.most + x);
    vec<T> most = before;
    for (std::int64_t j = 0; j < keys; ++j) {
      T* const at = scores + j * tile_rows + x;
      vec<T> s = load_vector(at);
      if (!masks.whole) {
        s = unmasked(s, j, x, masks, minus_infinity<T>);
        store_vector(at, s);
      }
      most = s > most ? s : most;
    }
    // A query that has attended to nothing yet has no finite maximum to subtract.
    const vec<T> subtracted = most == all(minus_infinity<T>) ? vec<T>{} : most;
    const vec<T> rescale = exponential(before - subtracted);
    vec<T> sum = load_vector(softmax.sum + x) * rescale;
    for (std::int64_t j = 0; j < keys; ++j) {
      T* const at = scores + j * tile_rows + x;
      const vec<T> p = exponential(load_vector(at) - subtracted);
      store_vector(at, p);
      sum += p;
    }
    store_vector(softmax.most + x, most);
    store_vector(softmax.sum + x, sum);
    store_vector(softmax.rescale + x, rescale);
  }
}

template <class T>
void recall(T* scores, std::int64_t keys, std::int64_t columns, const tile_masks<T>& masks,
            const T* statistic) {
  for (std::int64_t x = 0; x < columns; x += width<T>) {
    // All scores of a query with the statistic −∞ are −∞, and their probabilities 0.
    const vec<T> given = load_vector(statistic + x);
    const vec<T> subtracted = given == all(minus_infinity<T>) ? vec<T>{} : given;
    for (std::int64_t j = 0; j < keys; ++j) {
      T* const at = scores + j * tile_rows + x;
      vec<T> p = exponential(load_vector(at) - subtracted);
      if (!masks.whole) p = unmasked(p, j, x, masks, T{0});
      store_vector(at, p);
    }
  }
}

template <class T>
void differentiate(T* gradients, const T* p, const T* kept, const T* delta, std::int64_t keys,
                   std::int64_t columns) {
  for (std::int64_t j = 0; j < keys; ++j) {
    for (std::int64_t x = 0; x < columns; x += width<T>) {
      const std::int64_t at = j * tile_rows + x;
      vec<T> g = load_vector(gradients + at);
      if (kept != nullptr) g *= load_vector(kept + at);
      store_vector(gradients + at, load_vector(p + at) * (g - load_vector(delta + x)));
    }
  }
}

// Elements. -------------------------------------------------------------------------------------

// Bits of a small float, moved to where those of f32 are, are its value but for the exponent's
// bias, which a product corrects; also of subnormal numbers.
inline float widen(bf16 x) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}
inline float widen(f16 x) noexcept {
  const std::uint32_t bits = x.bits;
  const auto magnitude = std::bit_cast<float>((bits & 0x7fffu) << 13);
  const std::uint32_t finite = std::bit_cast<std::uint32_t>(magnitude * 0x1p112f);
  const std::uint32_t infinite = (bits & 0x7fffu) << 13 | 0x7f800000u;
  const std::uint32_t value = (bits & 0x7c00u) == 0x7c00u ? infinite : finite;
  return std::bit_cast<float>(value | (bits & 0x8000u) << 16);
}
inline float widen(e4m3 x) noexcept {
  const std::uint32_t bits = x.bits;
  const auto magnitude = std::bit_cast<float>((bits & 0x7fu) << 20);
  const std::uint32_t finite = std::bit_cast<std::uint32_t>(magnitude * 0x1p120f);
  const std::uint32_t value = (bits & 0x7fu) == 0x7fu ? 0x7fc00000u : finite;
  return std::bit_cast<float>(value | (bits & 0x80u) << 24);
}

template <class From, class T>
void load_as(T* to, const std::byte* from, std::int64_t stride, std::int64_t count) {
  const auto* const x = reinterpret_cast<const From*>(from);
  const auto value = [&](std::int64_t i) {
    if constexpr (std::is_floating_point_v<From>)
      return static_cast<T>(x[i]);
    else
      return static_cast<T>(widen(x[i]));
  };
  if (stride == 1) {
    for (std::int64_t i = 0; i < count; ++i)
      to[i] = value(i);
  } else {
    for (std::int64_t i = 0; i < count; ++i)
      to[i] = value(i * stride);
  }
}

template <class T>
void load(T* to, dtype type, const std::byte* from, std::int64_t stride, std::int64_t count) {
  if (type == dtype::f64) return load_as<double>(to, from, stride, count);
  if (type == dtype::f32) return load_as<float>(to, from, stride, count);
  if (type == dtype::f16) return load_as<f16>(to, from, stride, count);
  if (type == dtype::bf16) return load_as<bf16>(to, from, stride, count);
  load_as<e4m3>(to, from, stride, count);
}

}  // namespace

template <class T>
const kernels<T> kernel_sets<T>::KERNELS = {
    .multiply = multiply<T>,
    .dots = dots<T>,
    .scale = scale<T>,
    .cap = cap<T>,
    .soften = soften<T>,
    .recall = recall<T>,
    .differentiate = differentiate<T>,
    .load = load<T>,
};
template const kernels<float> kernel_sets<float>::KERNELS;
template const kernels<double> kernel_sets<double>::KERNELS;

}  // namespace troupe::cpu::attention
