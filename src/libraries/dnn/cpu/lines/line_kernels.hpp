#pragma once

#include "libraries/dnn/cpu/elements.hpp"

#include <cstdint>
#include <span>

/// Loops over lines of elements: those of an image along channels, or along a dimension of space.
namespace troupe::cpu {

template <class Real>
struct sum_pair {
  Real sum = 0;
  Real product = 0;
};

/// Numbers of each channel of a line, or of the one channel that all of the line is of.
template <class Real>
struct channel_numbers {
  const Real* first = nullptr;
  std::int64_t step = 0;  ///< 1, or 0 for one channel
};

/// A line of elements, which goes to numbers from `to` on.
template <class T>
struct line_part {
  const T* x = nullptr;
  std::int64_t to = 0;
  std::int64_t n = 0;
  typename sums_of<T>::type factor = 1;
  std::int32_t place = 0;
  const void* places = nullptr;  ///< for these elements
};

/// The loops for one kind of processor. Lines of elements have a step, in elements; numbers are
/// contiguous. Elements that are written are read before.
template <class T>
struct line_kernels {
  using real = typename sums_of<T>::type;
  using numbers = channel_numbers<real>;

  void (*load)(const T* x, std::int64_t step, std::int64_t n, real* to);
  /// to = x − origin.
  void (*load_from)(const T* x, std::int64_t step, std::int64_t n, real origin, real* to);
  void (*store)(const real* from, std::int64_t n, T* y, std::int64_t step);
  /// y = sums / (lines · by).
  void (*divide)(const real* sums, const numbers& by, real lines, std::int64_t n, T* y,
                 std::int64_t step);
  /// y = first, second, first, second, …: `n` elements in all.
  void (*store_pairs)(const real* first, const real* second, std::int64_t n, T* y,
                      std::int64_t step);
  void (*store_places)(const std::int32_t* from, std::int64_t n, std::uint8_t* to,
                       std::int64_t step);
  /// best = max(best, x), NaN if there is one, of each part in turn.
  void (*take_max)(std::span<const line_part<T>> parts, std::int64_t step, real* best);
  /// The same, and places = place where x is taken: the first of several, or the first NaN.
  void (*take_max_at)(std::span<const line_part<T>> parts, std::int64_t step, real* best,
                      std::int32_t* places);
  /// sums += factor · x.
  void (*add)(const T* x, std::int64_t step, std::int64_t n, real factor, real* sums);
  void (*add_parts)(std::span<const line_part<T>> parts, std::int64_t step, real* sums);
  /// sums += x where its place is that of the part.
  void (*add_where)(std::span<const line_part<T>> parts, std::int64_t step,
                    std::int64_t places_step, real* sums);
  void (*add_where_wide)(std::span<const line_part<T>> parts, std::int64_t step,
                         std::int64_t places_step, real* sums);

  // For few parts, at least one except for sums, element by element, whatever their `to` and `n`.
  /// The largest of each, and its place where `places` is given.
  void (*max_of_lines)(std::span<const line_part<T>> parts, std::int64_t step, std::int64_t n, T* y,
                       std::int64_t y_step, std::uint8_t* places, std::int64_t places_step);
  void (*max_of_lines_wide)(std::span<const line_part<T>> parts, std::int64_t step, std::int64_t n,
                            T* y, std::int64_t y_step, std::int32_t* places,
                            std::int64_t places_step);
  /// y = Σ factor · x / (lines · by).
  void (*sum_of_lines)(std::span<const line_part<T>> parts, std::int64_t step, std::int64_t n,
                       const numbers& by, real lines, T* y, std::int64_t y_step);
  /// y = Σ x where its place is that of the part.
  void (*where_of_lines)(std::span<const line_part<T>> parts, std::int64_t step,
                         std::int64_t places_step, std::int64_t n, real* y);
  void (*where_of_lines_wide)(std::span<const line_part<T>> parts, std::int64_t step,
                              std::int64_t places_step, std::int64_t n, real* y);

  real (*sum)(const real* x, std::int64_t n);
  /// Σ (x − mean)².
  real (*squares)(const real* x, std::int64_t n, real mean);
  /// Σ dy, and Σ dy · x.
  sum_pair<real> (*products)(const real* dy, const real* x, std::int64_t n);
  // Sums per channel, for lines along channels with step 1; each adds to the existing sums.
  /// Σ (x − origin), and Σ (x − origin)².
  void (*add_moments)(const T* x, std::int64_t n, const real* origin, real* sums, real* squares);
  /// Σ dy, and Σ dy · (x − mean).
  void (*add_products)(const T* dy, const T* x, std::int64_t n, const real* mean, real* sums,
                       real* products);
  /// y = (x − mean) · scale + bias.
  void (*normalize)(const T* x, std::int64_t x_step, std::int64_t n, const numbers& mean,
                    const numbers& scale, const numbers& bias, T* y, std::int64_t y_step);
  /// dx = (dy − average − (x − mean) · slope) · scale.
  void (*differentiate)(const T* x, std::int64_t x_step, const T* dy, std::int64_t dy_step,
                        std::int64_t n, const numbers& mean, const numbers& average,
                        const numbers& slope, const numbers& scale, T* dx, std::int64_t dx_step);

  [[nodiscard]] static const line_kernels& mine() noexcept;
};

// One set for each kind of processor.
template <class T>
struct line_kernel_sets {
  static const line_kernels<T> plain;   ///< any
  static const line_kernels<T> avx2;    ///< with AVX2 and FMA
  static const line_kernels<T> avx512;  ///< with AVX-512 F, BW, DQ and VL
};

}  // namespace troupe::cpu
