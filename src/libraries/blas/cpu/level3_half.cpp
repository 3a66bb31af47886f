#include "libraries/blas/cpu/product.hpp"
#include "libraries/blas/cpu/routines.hpp"
#include "libraries/blas/cpu/thin/thin_product.hpp"
#include "libraries/blas/requests/factors.hpp"

#include <algorithm>
#include <span>

namespace troupe::cpu {
namespace {

/// Copies the elements of a matrix, converted, into packed row-major f32.
template <class From>
void widen(const std::byte* from, std::int64_t row_stride, std::int64_t column_stride,
           std::int64_t rows, std::int64_t columns, float* to) {
  const auto* first = reinterpret_cast<const From*>(from);
  if (column_stride == 1) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j)
        to[i * columns + j] = static_cast<float>(first[i * row_stride + j]);
    }
  } else {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j)
        to[i * columns + j] = static_cast<float>(first[i * row_stride + j * column_stride]);
    }
  }
}

struct sizes {
  std::int64_t m, n, k;
};

sizes sizes_of(const product& p) {
  const int rows = p.c.rank() - 2;
  // Without weight nothing is read: NaNs times zero would be NaNs.
  return {p.c.extent(rows), p.c.extent(rows + 1),
          blas::vanishes(p.alpha, p.c.type()) ? 0 : p.a.extent(rows + 1)};
}

/// `count` floats for each of three matrices.
result<std::span<float>> floats(lane_context& lane, std::int64_t count) {
  auto bytes = lane.workspace(static_cast<std::size_t>(count) * sizeof(float));
  if (!bytes) return std::move(bytes).error();
  return std::span(reinterpret_cast<float*>(bytes->data()), static_cast<std::size_t>(count));
}

template <class In, class Out>
result<void> multiply_through_f32(const product& p, const std::byte* a, const std::byte* b,
                                  std::byte* c, lane_context& lane) {
  const auto [m, n, k] = sizes_of(p);
  const int rows = p.c.rank() - 2;
  const bool thin = is_thin(m, n, k, p.b.type(), p.b.stride(rows));
  auto scratch = floats(lane, m * k + m * n + (thin ? 0 : k * n));
  if (!scratch) return std::move(scratch).error();
  float* const wide_a = scratch->data();
  float* const sum = wide_a + m * k;
  widen<In>(a, p.a.stride(rows), p.a.stride(rows + 1), m, k, wide_a);
  const float alpha = p.alpha.as<float>();
  const float beta = p.beta.as<float>();
  if (thin) {
    for (std::int64_t at = 0; at < m * k; ++at)
      wide_a[at] *= alpha;
    run({.m = m,
         .n = n,
         .k = k,
         .a = wide_a,
         .type = p.b.type(),
         .b = b,
         .step = p.b.stride(rows + 1),
         .sum = sum});
  } else {
    float* const wide_b = sum + m * n;
    widen<In>(b, p.b.stride(rows), p.b.stride(rows + 1), k, n, wide_b);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, alpha, wide_a,
                std::max<std::int64_t>(k, 1), wide_b, n, 0.f, sum, n);
  }
  auto* const out = reinterpret_cast<Out*>(c);
  const std::int64_t row_stride = p.c.stride(rows);
  const std::int64_t column_stride = p.c.stride(rows + 1);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      Out& place = out[i * row_stride + j * column_stride];
      const float old = beta == 0.f ? 0.f : beta * static_cast<float>(place);
      place = static_cast<Out>(sum[i * n + j] + old);
    }
  }
  return {};
}

}  // namespace

result<void> multiply_half(const product& p, const std::byte* a, const std::byte* b, std::byte* c,
                           lane_context& lane) {
  const bool wide = p.c.type() == dtype::f32;
  if (p.a.type() == dtype::f16) {
    return wide ? multiply_through_f32<f16, float>(p, a, b, c, lane)
                : multiply_through_f32<f16, f16>(p, a, b, c, lane);
  }
  return wide ? multiply_through_f32<bf16, float>(p, a, b, c, lane)
              : multiply_through_f32<bf16, bf16>(p, a, b, c, lane);
}

result<void> multiply_i8(const product& p, const std::byte* a, const std::byte* b, std::byte* c,
                         lane_context& lane) {
  // A sum of 1 024 products of two i8 is below 2^24, which f32 holds exactly: so OpenBLAS's sgemm
  // gives exact sums when k is taken in blocks of that, and the blocks are added as integers.
  constexpr std::int64_t exact = 1024;
  const auto [m, n, k] = sizes_of(p);
  const int rows = p.c.rank() - 2;
  const std::int64_t widest = std::min(k, exact);
  auto scratch = floats(lane, m * widest + widest * n + m * n);
  if (!scratch) return std::move(scratch).error();
  float* const wide_a = scratch->data();
  float* const wide_b = wide_a + m * widest;
  float* const sum = wide_b + widest * n;

  // Unsigned, because i32 results wrap modulo 2^32 as the request states.
  const auto alpha = static_cast<std::uint32_t>(p.alpha.as<std::int32_t>());
  const auto beta = static_cast<std::uint32_t>(p.beta.as<std::int32_t>());
  auto* const out = reinterpret_cast<std::uint32_t*>(c);
  const std::int64_t row_stride = p.c.stride(rows);
  const std::int64_t column_stride = p.c.stride(rows + 1);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      std::uint32_t& place = out[i * row_stride + j * column_stride];
      place = beta == 0 ? 0 : beta * place;
    }
  }
  for (std::int64_t from = 0; from < k; from += exact) {
    const std::int64_t depth = std::min(exact, k - from);
    widen<std::int8_t>(a + from * p.a.stride(rows + 1), p.a.stride(rows), p.a.stride(rows + 1), m,
                       depth, wide_a);
    widen<std::int8_t>(b + from * p.b.stride(rows), p.b.stride(rows), p.b.stride(rows + 1), depth,
                       n, wide_b);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, depth, 1.f, wide_a, depth, wide_b,
                n, 0.f, sum, n);
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        out[i * row_stride + j * column_stride] +=
            alpha * static_cast<std::uint32_t>(static_cast<std::int32_t>(sum[i * n + j]));
      }
    }
  }
  return {};
}

}  // namespace troupe::cpu
