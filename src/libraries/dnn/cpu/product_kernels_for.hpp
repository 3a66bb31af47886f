#pragma once

// The loops of products, compiled for each kind of processor: KERNELS names them, LANE_BYTES and
// ROWS say what its registers hold.

#include "libraries/dnn/cpu/product_kernels.hpp"

#include <cstring>

namespace troupe::cpu {
namespace {

template <class T>
struct vector_of {
  using type [[gnu::vector_size(LANE_BYTES)]] = T;
  static constexpr std::int64_t count = LANE_BYTES / sizeof(T);
};

template <class T>
void add_product(const T* a, const T* b, std::int64_t depth, T* c, std::int64_t stride) {
  using lanes = typename vector_of<T>::type;
  constexpr std::int64_t width = vector_of<T>::count;
  lanes sums[ROWS][2] = {};
  for (std::int64_t d = 0; d < depth; ++d, a += ROWS, b += 2 * width) {
    lanes left;
    lanes right;
    std::memcpy(&left, b, sizeof(lanes));
    std::memcpy(&right, b + width, sizeof(lanes));
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; ++r) {
      sums[r][0] += a[r] * left;
      sums[r][1] += a[r] * right;
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < ROWS; ++r) {
    for (int half = 0; half < 2; ++half) {
      T* const to = c + r * stride + half * width;
      lanes before;
      std::memcpy(&before, to, sizeof(lanes));
      before += sums[r][half];
      std::memcpy(to, &before, sizeof(lanes));
    }
  }
}

template <class T>
constexpr product_kernel<T> kernel{
    .rows = ROWS, .columns = 2 * vector_of<T>::count, .add = &add_product<T>};

}  // namespace

// Each source that includes this has a name of its own for it.
// NOLINTNEXTLINE(misc-definitions-in-headers)
constinit const product_kernels KERNELS{
    .of_f32 = kernel<float>, .of_f64 = kernel<double>, .of_i32 = kernel<std::uint32_t>};

}  // namespace troupe::cpu
