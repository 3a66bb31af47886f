#include "libraries/blas/cpu/thin/thin_product.hpp"

#include "base/processor.hpp"
#include "libraries/blas/cpu/thin/thread_pool.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace troupe::cpu {
namespace {

constexpr int lanes = 16;
constexpr std::int64_t columns_of_task = 32;  // they stay in a processor's cache while rows pass

using floats = float __attribute__((vector_size(lanes * sizeof(float))));
using halves = std::uint16_t __attribute__((vector_size(lanes * sizeof(std::uint16_t))));
using words = std::uint32_t __attribute__((vector_size(lanes * sizeof(std::uint32_t))));

// Inlined into a function for each kind of processor, whose instructions they take.
#define TROUPE_INLINE [[gnu::always_inline]] inline

TROUPE_INLINE void load(const float* from, floats& to) { std::memcpy(&to, from, sizeof(to)); }
TROUPE_INLINE void load(const std::uint16_t* from, floats& to) {
  halves bits;
  std::memcpy(&bits, from, sizeof(bits));
  const words wide = __builtin_convertvector(bits, words) << 16;
  std::memcpy(&to, &wide, sizeof(to));
}
TROUPE_INLINE float one_of(const float* from) { return *from; }
TROUPE_INLINE float one_of(const std::uint16_t* from) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(*from) << 16);
}

/// M rows of a with C columns of b.
template <int M, int C, class B>
TROUPE_INLINE void multiply_tile(const float* a, std::int64_t k, const B* b, std::int64_t step,
                                 float* sum, std::int64_t n) {
  constexpr auto rows = static_cast<std::size_t>(M);
  constexpr auto width = static_cast<std::size_t>(C);
  floats sums[rows][width] = {};
  std::int64_t l = 0;
  for (; l + lanes <= k; l += lanes) {
    floats columns[width];
    for (int c = 0; c < C; ++c)
      load(b + c * step + l, columns[c]);
    for (int i = 0; i < M; ++i) {
      floats row;
      load(a + i * k + l, row);
      for (int c = 0; c < C; ++c)
        sums[i][c] += row * columns[c];
    }
  }
  for (int i = 0; i < M; ++i) {
    for (int c = 0; c < C; ++c) {
      float all = 0;
      for (int lane = 0; lane < lanes; ++lane)
        all += sums[i][c][lane];
      for (std::int64_t rest = l; rest < k; ++rest)
        all += a[i * k + rest] * one_of(b + c * step + rest);
      sum[i * n + c] = all;
    }
  }
}

template <int M, int C, class B>
TROUPE_INLINE void multiply_rows(const thin_product& p, std::int64_t row, std::int64_t first,
                                 std::int64_t last) {
  const B* const b = reinterpret_cast<const B*>(p.b);
  const float* const a = p.a + row * p.k;
  float* const sum = p.sum + row * p.n;
  std::int64_t j = first;
  for (; j + C <= last; j += C)
    multiply_tile<M, C>(a, p.k, b + j * p.step, p.step, sum + j, p.n);
  for (; j < last; ++j)
    multiply_tile<M, 1>(a, p.k, b + j * p.step, p.step, sum + j, p.n);
}

/// Columns [first, last) with all rows.
template <class B>
TROUPE_INLINE void multiply_columns(const thin_product& p, std::int64_t first, std::int64_t last) {
  std::int64_t row = 0;
  for (; row + 8 <= p.m; row += 8)
    multiply_rows<8, 2, B>(p, row, first, last);
  if (row + 4 <= p.m) {
    multiply_rows<4, 4, B>(p, row, first, last);
    row += 4;
  }
  if (row + 2 <= p.m) {
    multiply_rows<2, 4, B>(p, row, first, last);
    row += 2;
  }
  if (row < p.m) multiply_rows<1, 8, B>(p, row, first, last);
}

using kernel = void (*)(const thin_product&, std::int64_t, std::int64_t);

#if defined(__x86_64__)
[[gnu::target("avx512f,avx512bw,avx512vl,avx2,fma")]] void f32_avx512(const thin_product& p,
                                                                      std::int64_t first,
                                                                      std::int64_t last) {
  multiply_columns<float>(p, first, last);
}
[[gnu::target("avx512f,avx512bw,avx512vl,avx2,fma")]] void bf16_avx512(const thin_product& p,
                                                                       std::int64_t first,
                                                                       std::int64_t last) {
  multiply_columns<std::uint16_t>(p, first, last);
}
[[gnu::target("avx2,fma")]] void f32_avx2(const thin_product& p, std::int64_t first,
                                          std::int64_t last) {
  multiply_columns<float>(p, first, last);
}
[[gnu::target("avx2,fma")]] void bf16_avx2(const thin_product& p, std::int64_t first,
                                           std::int64_t last) {
  multiply_columns<std::uint16_t>(p, first, last);
}
#endif

struct kernels {
  kernel f32 = nullptr;
  kernel bf16 = nullptr;
};

/// Null for processors without AVX2.
kernels mine() noexcept {
#if defined(__x86_64__)
  const auto level = troupe::detail::processor();
  if (level == troupe::detail::processor_level::avx512) return {f32_avx512, bf16_avx512};
  if (level == troupe::detail::processor_level::avx2) return {f32_avx2, bf16_avx2};
#endif
  return {};
}
const kernels chosen = mine();

thread_pool& pool() {
  static thread_pool made;
  return made;
}

// Below it a product takes no longer than the threads' agreement.
constexpr std::int64_t shared_work = std::int64_t{1} << 17;

}  // namespace

bool is_thin(std::int64_t m, std::int64_t n, std::int64_t k, dtype type,
             std::int64_t depth_step) noexcept {
  if (chosen.f32 == nullptr || depth_step != 1 || k < 64 || n < 64) return false;
  // One row of f32 is a product of a matrix and a vector, which OpenBLAS reads once as well.
  return type == dtype::bf16 ? m <= 16 : type == dtype::f32 && m >= 2 && m <= 8;
}

void run(const thin_product& p) {
  const kernel of = p.type == dtype::bf16 ? chosen.bf16 : chosen.f32;
  if (p.m * p.n * p.k < shared_work) return of(p, 0, p.n);
  const std::int64_t tasks = (p.n + columns_of_task - 1) / columns_of_task;
  pool().run(tasks, [&](std::int64_t task) {
    const std::int64_t first = task * columns_of_task;
    of(p, first, std::min(first + columns_of_task, p.n));
  });
}

}  // namespace troupe::cpu
