#pragma once

#include "backend/cuda/context/launch.cuh"
#include "libraries/dnn/shared/image_view.hpp"
#include "libraries/dnn/shared/quick_divisor.hpp"
#include "libraries/memory/cuda/small_floats.cuh"

#include <bit>
#include <cstdint>
#include <initializer_list>

/// How kernels iterate over images [n, c, space…] with any strides.
namespace troupe::cuda {

using dnn::image_extents;
using dnn::image_view;

inline constexpr unsigned image_threads = 256;
inline constexpr int vector_bytes = 16;
/// Blocks per multiprocessor for kernels whose threads load single elements. It takes this many to
/// keep the memory busy.
inline constexpr int occupied = 5;

/// The type of the arithmetic on elements of type T.
template <class T>
using image_real = std::conditional_t<std::same_as<T, double>, double, float>;

[[nodiscard]] __device__ __forceinline__ double real_of(double x) { return x; }
[[nodiscard]] __device__ __forceinline__ float real_of(float x) { return x; }
[[nodiscard]] __device__ __forceinline__ float real_of(bf16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}
[[nodiscard]] __device__ __forceinline__ float real_of(f16 x) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
  return wide;
}
template <class T>
[[nodiscard]] __device__ __forceinline__ T element_of(image_real<T> x) {
  if constexpr (std::same_as<T, f16> || std::same_as<T, bf16>) {
    return rounded<T>(x);
  } else {
    return x;
  }
}

/// Neighbouring elements, loaded and stored as one vector.
template <class T, int V>
struct alignas(sizeof(T) * V) pack {
  T of[V];
};
template <class T, int V>
__device__ __forceinline__ void load_pack(const T* from, image_real<T> (&to)[V]) {
  const auto all = *reinterpret_cast<const pack<T, V>*>(from);
#pragma unroll
  for (int v = 0; v < V; ++v)
    to[v] = real_of(all.of[v]);
}
template <class Real, int V>
__device__ __forceinline__ void fill_pack(Real (&all)[V], Real value) {
#pragma unroll
  for (int v = 0; v < V; ++v)
    all[v] = value;
}
template <class Real, int V, int N>
__device__ __forceinline__ void copy_pack(const Real (&from)[V], Real (&to)[N], int at) {
#pragma unroll
  for (int v = 0; v < V; ++v)
    to[at + v] = from[v];
}
template <class T, int V>
__device__ __forceinline__ void store_pack(const image_real<T> (&from)[V], T* to) {
  pack<T, V> all;
#pragma unroll
  for (int v = 0; v < V; ++v)
    all.of[v] = element_of<T>(from[v]);
  *reinterpret_cast<pack<T, V>*>(to) = all;
}

/// A divisor of place numbers.
struct divider {
  std::int64_t by = 1;
  dnn::quick_divisor quick;

  divider() = default;
  explicit divider(std::int64_t number) noexcept : by(number), quick(number) {}
  /// Divides `rest` and returns the remainder. `wide`: `rest` may be 2³¹ or more.
  [[nodiscard]] __device__ __forceinline__ std::int64_t take_from(std::int64_t& rest,
                                                                  bool wide) const {
    if (by == 1) return 0;
    const std::int64_t all = rest;
    if (wide) {
      rest = all / by;
      return all - rest * by;
    }
    const std::uint32_t whole = quick.divide(static_cast<std::uint32_t>(all));
    rest = whole;
    return static_cast<std::uint32_t>(all) - whole * static_cast<std::uint32_t>(by);
  }
};

/// The position of an element of an image, or of the first of several.
struct image_place {
  std::int64_t n, c;
  std::int32_t d, h, w;

  [[nodiscard]] __device__ __forceinline__ std::int64_t in(const image_view& v) const {
    return n * v.n_step + c * v.c_step + d * v.steps[0] + h * v.steps[1] + w * v.steps[2];
  }
};

/// The numbered places of images, in memory order.
struct image_places {
  std::int64_t count = 0;
  bool wide = false;
  bool channels_inside = false;
  int c_unit = 1;  ///< channels per place
  int w_unit = 1;  ///< elements per place in the last dimension; some may be beyond its extent
  int h_unit = 1;  ///< the same in the dimension before it
  divider c, d, h, w;

  image_places() = default;
  image_places(const image_extents& of, bool channels_first_in_order, int channels_each,
               int elements_each, int lines_each = 1) noexcept
      : channels_inside(channels_first_in_order),
        c_unit(channels_each),
        w_unit(elements_each),
        h_unit(lines_each),
        c(of.c / channels_each),
        d(of.space[0]),
        h((of.space[1] + lines_each - 1) / lines_each),
        w((of.space[2] + elements_each - 1) / elements_each) {
    count = of.n * c.by * d.by * h.by * w.by;
    wide = count >= std::int64_t{1} << 31;
  }
  [[nodiscard]] __device__ __forceinline__ image_place at(std::int64_t flat) const {
    image_place p;
    p.c = channels_inside ? c.take_from(flat, wide) : 0;
    p.w = static_cast<std::int32_t>(w.take_from(flat, wide)) * w_unit;
    p.h = static_cast<std::int32_t>(h.take_from(flat, wide)) * h_unit;
    p.d = static_cast<std::int32_t>(d.take_from(flat, wide));
    if (!channels_inside) p.c = c.take_from(flat, wide);
    p.c *= c_unit;
    p.n = flat;
    return p;
  }
  /// The end of a place's lines and columns, limited by the extent.
  [[nodiscard]] __device__ __forceinline__ std::int32_t lines_end(const image_place& p,
                                                                  std::int32_t extent) const {
    return extent - p.h < h_unit ? extent : p.h + h_unit;
  }
  [[nodiscard]] __device__ __forceinline__ std::int32_t columns_end(const image_place& p,
                                                                    std::int32_t extent) const {
    return extent - p.w < w_unit ? extent : p.w + w_unit;
  }
};

/// Stores the first `count` of some columns, as one vector if `aligned`. There is either one column
/// or one channel.
template <class T, int V, int C>
__device__ __forceinline__ void store_columns(const image_real<T> (&from)[C][V], T* to,
                                              std::int64_t step, std::int32_t count, bool aligned) {
  if constexpr (C == 1) {
    store_pack<T, V>(from[0], to);
  } else {
    static_assert(V == 1);
    if (aligned) {
      image_real<T> all[C];
#pragma unroll
      for (int c = 0; c < C; ++c)
        all[c] = from[c][0];
      return store_pack<T, C>(all, to);
    }
#pragma unroll
    for (int c = 0; c < C; ++c)
      if (c < count) to[c * step] = element_of<T>(from[c][0]);
  }
}

/// The columns of a gradient that a thread with one channel takes.
inline constexpr int columns_each = 4;

/// The lines per thread. More than one only if there are enough elements to keep the GPU busy.
[[nodiscard]] inline int lines_each(const image_extents& of) noexcept {
  constexpr std::int64_t lines = 4;
  constexpr std::int64_t many = std::int64_t{1} << 20;
  return of.count() >= many && of.space[1] >= lines ? int{lines} : 1;
}

[[nodiscard]] __device__ __forceinline__ std::int64_t flat_thread() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
[[nodiscard]] inline std::int64_t blocks_for(std::int64_t count) noexcept {
  return (count - 1) / image_threads + 1;
}

/// Calls `f` with the first of some ascending counts that is at least `most`: the number of
/// elements of a line that a thread holds at once. Calls it with 0 if all are smaller, or elements
/// are f64.
template <class T, class F>
[[nodiscard]] result<void> with_most(std::int64_t, F f) {
  return f(std::integral_constant<int, 0>());
}
template <class T, int First, int... Rest, class F>
[[nodiscard]] result<void> with_most(std::int64_t most, F f) {
  if constexpr (!std::same_as<T, double>) {
    if (most <= First) return f(std::integral_constant<int, First>());
    return with_most<T, Rest...>(most, f);
  } else {
    return f(std::integral_constant<int, 0>());
  }
}

/// True if the channel stride is smaller than that of the last spatial dimension.
[[nodiscard]] inline bool channels_are_inside(const image_extents& of,
                                              const image_view& v) noexcept {
  return of.c > 1 && (of.places() == 1 || v.c_step <= v.steps[2]);
}
/// True if every place of a view with contiguous channels begins at a multiple of `unit` elements
/// of `bytes` bytes.
[[nodiscard]] inline bool channels_align(const image_view& v, int unit,
                                         std::int64_t bytes) noexcept {
  const auto fits = [&](std::int64_t step) { return step % unit == 0; };
  return v.c_step == 1 && fits(v.n_step) && fits(v.steps[0]) && fits(v.steps[1]) &&
         fits(v.steps[2]) && reinterpret_cast<std::uintptr_t>(v.at) % (unit * bytes) == 0;
}
/// The same for a view whose last dimension is contiguous.
[[nodiscard]] inline bool lines_align(const image_view& v, int unit, std::int64_t bytes) noexcept {
  const auto fits = [&](std::int64_t step) { return step % unit == 0; };
  return v.steps[2] == 1 && fits(v.n_step) && fits(v.c_step) && fits(v.steps[0]) &&
         fits(v.steps[1]) && reinterpret_cast<std::uintptr_t>(v.at) % (unit * bytes) == 0;
}

}  // namespace troupe::cuda
