#include "libraries/blaslt/cpu/matmul.hpp"

#include "libraries/blas/cpu/product.hpp"
#include "libraries/blas/cpu/routines.hpp"
#include "libraries/blas/cpu/thin/thin_product.hpp"
#include "libraries/blaslt/cpu/direct.hpp"
#include "libraries/blaslt/cpu/epilogues.hpp"
#include "libraries/blaslt/requests/geometry.hpp"

#include <troupe/plugin/static_registration.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

namespace troupe::cpu {
namespace {

using blaslt::matmul;
using blaslt::scaling;

struct sizes {
  std::int64_t m, n, k, batch;

  explicit sizes(const matmul& r) noexcept
      : m(r.d.extent(r.d.rank() - 2)),
        n(r.d.extent(r.d.rank() - 1)),
        k(r.a.extent(r.a.rank() - 1)),
        batch(r.d.rank() == 3 ? r.d.extent(0) : 1) {}
};

/// The factors of an operand that has more than one: that of element [i, j] lies at
/// i / rows · row_stride + j / columns · column_stride.
struct factor_grid {
  const float* first = nullptr;
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;

  factor_grid(const any_tensor& scale, scaling how, bool is_a) noexcept {
    if (how == scaling::tensor) return;
    first = scale.data<float>();
    if (how == scaling::outer_vector) {
      (is_a ? row_stride : column_stride) = blas::increment(scale);
      return;
    }
    row_stride = scale.stride(0);
    column_stride = scale.stride(1);
    const std::int64_t outer = how == scaling::block_128x128 ? 128 : 1;
    rows = is_a ? outer : 128;
    columns = is_a ? 128 : outer;
  }
  [[nodiscard]] float operator()(std::int64_t i, std::int64_t j) const noexcept {
    return first == nullptr ? 1.F : first[i / rows * row_stride + j / columns * column_stride];
  }
};

/// The elements [rows, columns] of a matrix from column or row `from` on, packed by rows as f32.
void widen(const matrix_place& from, const factor_grid& factors, std::int64_t rows,
           std::int64_t columns, float* to) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j)
      to[i * columns + j] = from.get<float>(i, j) * factors(i, j);
  }
}

template <class T>
result<std::span<T>> numbers(lane_context& lane, std::int64_t count) {
  auto bytes = lane.workspace(static_cast<std::size_t>(count) * sizeof(T));
  if (!bytes) return std::move(bytes).error();
  return std::span(reinterpret_cast<T*>(bytes->data()), static_cast<std::size_t>(count));
}

/// sum = op_a(a) · op_b(b), by rows, of types that OpenBLAS multiplies.
template <class T>
void multiply(const matmul& r, const sizes& s, std::int64_t product, T* sum, lane_context& lane) {
  auto* const first = reinterpret_cast<std::byte*>(sum);
  // It has the rank of the others, of which only the last two dimensions are used.
  const any_tensor sums = any_tensor::unowned(
      first, dtype_of<T>, r.d.rank() == 3 ? shape{1, s.m, s.n} : shape{s.m, s.n});
  // These types need no workspace, so nothing can fail.
  (void)cpu::multiply({r.a, r.b, sums, 1, 0, r.op_a, r.op_b}, matrix_place(r.a, product).first,
                      matrix_place(r.b, product).first, first, lane);
}

/// The same through f32, into which a and b are widened; `scratch` takes (m + n) · k.
void multiply_widened(const matmul& r, const sizes& s, std::int64_t product, float* scratch,
                      float* sum) {
  float* const a = scratch;
  float* const b = scratch + s.m * s.k;
  widen(matrix_place(r.a, product), {r.scale_a, r.scaling_a, true}, s.m, s.k, a);
  const matrix_place columns(r.b, product);
  if (r.scaling_b == scaling::tensor && is_thin(s.m, s.n, s.k, r.b.type(), columns.row_stride)) {
    run({.m = s.m,
         .n = s.n,
         .k = s.k,
         .a = a,
         .type = r.b.type(),
         .b = columns.first,
         .step = columns.column_stride,
         .sum = sum});
    return;
  }
  widen(matrix_place(r.b, product), {r.scale_b, r.scaling_b, false}, s.k, s.n, b);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, s.m, s.n, s.k, 1.F, a, s.k, b, s.n, 0.F,
              sum, s.n);
}

// A sum of so many products of two i8 is at most 2^24, which f32 holds exactly.
constexpr std::int64_t exact_depth = 1024;

/// Sums of i8 modulo 2³²: f32 products of exact depth, added as integers. `scratch` takes
/// (m + n) · min(k, exact_depth) + m · n.
void multiply_i8(const matmul& r, const sizes& s, std::int64_t product, float* scratch,
                 std::uint32_t* sum) {
  const std::int64_t widest = std::min(s.k, exact_depth);
  float* const wide_a = scratch;
  float* const wide_b = scratch + s.m * widest;
  float* const part = wide_b + widest * s.n;
  std::fill_n(sum, s.m * s.n, 0U);
  for (std::int64_t from = 0; from < s.k; from += exact_depth) {
    const std::int64_t depth = std::min(exact_depth, s.k - from);
    matrix_place a(r.a, product);
    matrix_place b(r.b, product);
    a.first += from * a.column_stride;
    b.first += from * b.row_stride;
    widen(a, {{}, scaling::tensor, true}, s.m, depth, wide_a);
    widen(b, {{}, scaling::tensor, false}, depth, s.n, wide_b);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, s.m, s.n, depth, 1.F, wide_a, depth,
                wide_b, s.n, 0.F, part, s.n);
    for (std::int64_t at = 0; at < s.m * s.n; ++at)
      sum[at] += static_cast<std::uint32_t>(static_cast<std::int32_t>(part[at]));
  }
}

float factor_of(const any_tensor& scale, scaling how = scaling::tensor) noexcept {
  return scale.null() || how != scaling::tensor ? 1.F : *scale.data<float>();
}

template <class Real>
finished_product<Real> finished(const matmul& r, std::int64_t product) noexcept {
  return {.r = r,
          .product = product,
          .alpha = r.alpha.as<Real>() * static_cast<Real>(factor_of(r.scale_a, r.scaling_a)) *
                   static_cast<Real>(factor_of(r.scale_b, r.scaling_b)),
          .beta = r.beta.as<Real>() * static_cast<Real>(factor_of(r.scale_c)),
          .scale_d = static_cast<Real>(factor_of(r.scale_d))};
}

/// The sum of an operand over k, in the epilogues that answer it.
void sum_operand(const matmul& r, const sizes& s, std::int64_t product) {
  if (!blaslt::sums_operand(r.epilogue)) return;
  const bool of_a = r.epilogue == blaslt::epilogue::bgrad_a;
  const matrix_place from(of_a ? r.a : r.b, product);
  const vector_place to(r.bgrad, product);
  for (std::int64_t i = 0; i < (of_a ? s.m : s.n); ++i) {
    double sum = 0;
    for (std::int64_t l = 0; l < s.k; ++l)
      sum += of_a ? from.get<double>(i, l) : from.get<double>(l, i);
    store_element(to.type, to.first, i, sum);
  }
}

/// All products of a real type; `multiply_into(product, scratch, sum)` forms the sums, and
/// `Sum` is what they are.
template <class Real, class Sum, class Multiply>
result<void> run_real(const matmul& r, const sizes& s, std::int64_t scratch_numbers,
                      lane_context& lane, Multiply multiply_into) {
  const std::int64_t columns = blaslt::sums_rows(r.epilogue) ? s.n : 0;
  const std::int64_t sums_of_rows = columns * static_cast<std::int64_t>(sizeof(double));
  const std::int64_t sums = s.m * s.n * static_cast<std::int64_t>(sizeof(Sum));
  const std::int64_t scratch = scratch_numbers * static_cast<std::int64_t>(sizeof(float));
  auto workspace = numbers<std::byte>(lane, sums_of_rows + blaslt::round_up(sums, 16) + scratch);
  if (!workspace) return std::move(workspace).error();
  const std::span row_sums(reinterpret_cast<double*>(workspace->data()),
                           static_cast<std::size_t>(columns));
  Sum* const sum = reinterpret_cast<Sum*>(workspace->data() + sums_of_rows);
  auto* const widened =
      reinterpret_cast<float*>(workspace->data() + sums_of_rows + blaslt::round_up(sums, 16));
  Real amax_d = 0;
  for (std::int64_t product = 0; product < s.batch; ++product) {
    if (r.alpha.is_zero()) {
      std::fill_n(sum, s.m * s.n, Sum{});
    } else {
      multiply_into(product, widened, sum);
    }
    std::ranges::fill(row_sums, 0.0);
    auto finish = finished<Real>(r, product);
    finish.store(
        [&](std::int64_t i, std::int64_t j) {
          if constexpr (std::is_same_v<Sum, std::uint32_t>) {
            return static_cast<Real>(static_cast<std::int32_t>(sum[i * s.n + j]));
          } else {
            return sum[i * s.n + j];
          }
        },
        row_sums);
    sum_operand(r, s, product);
    if (columns > 0) {
      const vector_place to(r.bgrad, product);
      for (std::int64_t j = 0; j < columns; ++j)
        store_element(to.type, to.first, j, row_sums[static_cast<std::size_t>(j)]);
    }
    amax_d = std::max(amax_d, finish.amax_d);
  }
  if (!r.amax_d.null()) *r.amax_d.data<float>() = static_cast<float>(amax_d);
  return {};
}

template <class T>
result<void> run_complex(const matmul& r, const sizes& s, lane_context& lane) {
  auto sum = numbers<T>(lane, s.m * s.n);
  if (!sum) return std::move(sum).error();
  const T alpha = r.alpha.as<T>();
  const T beta = r.beta.as<T>();
  for (std::int64_t product = 0; product < s.batch; ++product) {
    if (r.alpha.is_zero()) {
      std::ranges::fill(*sum, T{});
    } else {
      multiply<T>(r, s, product, sum->data(), lane);
    }
    const matrix_place d(r.d, product);
    const matrix_place c = r.c.null() ? matrix_place() : matrix_place(r.c, product);
    for (std::int64_t i = 0; i < s.m; ++i) {
      for (std::int64_t j = 0; j < s.n; ++j) {
        T x = alpha * (*sum)[static_cast<std::size_t>(i * s.n + j)];
        if (c.first != nullptr) x += beta * reinterpret_cast<const T*>(c.first)[c.index(i, j)];
        reinterpret_cast<T*>(d.first)[d.index(i, j)] = x;
      }
    }
  }
  return {};
}

/// i8 → i32, all of it modulo 2³².
result<void> run_integers(const matmul& r, const sizes& s, std::int64_t scratch_numbers,
                          lane_context& lane) {
  static_assert(sizeof(float) == sizeof(std::uint32_t));
  auto workspace = numbers<float>(lane, s.m * s.n + scratch_numbers);
  if (!workspace) return std::move(workspace).error();
  auto* const sum = reinterpret_cast<std::uint32_t*>(workspace->data());
  const auto alpha = static_cast<std::uint32_t>(r.alpha.as<std::int32_t>());
  const auto beta = static_cast<std::uint32_t>(r.beta.as<std::int32_t>());
  for (std::int64_t product = 0; product < s.batch; ++product) {
    multiply_i8(r, s, product, workspace->data() + s.m * s.n, sum);
    const matrix_place d(r.d, product);
    const matrix_place c = r.c.null() ? matrix_place() : matrix_place(r.c, product);
    for (std::int64_t i = 0; i < s.m; ++i) {
      for (std::int64_t j = 0; j < s.n; ++j) {
        std::uint32_t x = alpha * sum[i * s.n + j];
        if (c.first != nullptr) {
          x += beta * reinterpret_cast<const std::uint32_t*>(c.first)[c.index(i, j)];
        }
        reinterpret_cast<std::uint32_t*>(d.first)[d.index(i, j)] = x;
      }
    }
  }
  return {};
}

}  // namespace

result<void> run_matmul(const matmul& r, lane_context& lane) {
  using enum blaslt::arithmetic;
  if (blaslt::lay_out(r).empty()) return {};
  const sizes s(r);
  const std::int64_t widened = (s.m + s.n) * s.k;
  const std::int64_t widened_i8 = (s.m + s.n) * std::min(s.k, exact_depth) + s.m * s.n;
  switch (blaslt::types_of(r)->computed) {
    case f64:
      if (direct_product<double>::takes(r)) return direct_product<double>(r, lane).run();
      return run_real<double, double>(r, s, 0, lane, [&](auto product, float*, double* sum) {
        multiply<double>(r, s, product, sum, lane);
      });
    case complex:
      return r.a.type() == dtype::c64 ? run_complex<c64>(r, s, lane)
                                      : run_complex<c128>(r, s, lane);
    case f32:
      if (direct_product<float>::takes(r)) return direct_product<float>(r, lane).run();
      if (r.a.type() == dtype::f32) {
        return run_real<float, float>(r, s, 0, lane, [&](auto product, float*, float* sum) {
          multiply<float>(r, s, product, sum, lane);
        });
      }
      [[fallthrough]];
    case fp8:
    case i8_f32:
      return run_real<float, float>(r, s, widened, lane,
                                    [&](auto product, float* scratch, float* sum) {
                                      multiply_widened(r, s, product, scratch, sum);
                                    });
    case i32:
      return run_integers(r, s, widened_i8, lane);
    case i32_scaled:
      return run_real<float, std::uint32_t>(r, s, widened_i8, lane,
                                            [&](auto product, float* scratch, std::uint32_t* sum) {
                                              multiply_i8(r, s, product, scratch, sum);
                                            });
  }
  return {};
}

namespace {

const plugin_operations matmul_operations([](operation_table& table) {
  table.add<matmul>(run_matmul, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
