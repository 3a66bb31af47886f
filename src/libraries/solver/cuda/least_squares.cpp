#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/solver/cuda/call.hpp"
#include "libraries/solver/cuda/kernels/outcomes.hpp"
#include "libraries/solver/cuda/kernels/shaping.hpp"
#include "libraries/solver/cuda/kernels/spectra.hpp"
#include "libraries/solver/cuda/routines/decomposition.hpp"
#include "libraries/solver/cuda/routines/dense.hpp"
#include "libraries/solver/cuda/routines/products.hpp"

#include <troupe/solver/least_squares.hpp>

#include <algorithm>
#include <limits>

namespace troupe::cuda {
namespace {

/// Without equations or unknowns, the shortest solution is zero. Without right sides there is no
/// solution, and QR does not look at a.
result<void> run_empty(const solver::gels& r, lane& where) {
  if (!r.x.empty()) {
    call_frame c(where);
    staged x(c, r.x, staged::place::copy, {.writes = true});
    TRY(c.begin());
    TRY(clear(x->first, bytes_of(*x), where));
    TRY(c.end());
  }
  TRY(clear(r.rank, where));
  return clear(r.info, where);
}

/// Solves by QR of a, or if a is wide, of aᴴ: then a · x = Rᴴ · Qᴴ · x.
result<void> run_by_qr(const solver::gels& r, lane& where, late_failure failure) {
  const std::int64_t count = cuda::batch_of(r.a);
  const std::int64_t m = rows_of(r.a);
  const std::int64_t n = columns_of(r.a);
  const std::int64_t nrhs = columns_of(r.x);
  const std::int64_t rows = std::max(m, n);
  const std::int64_t values = std::min(m, n);
  const bool wide = m < n;
  const auto solver = TRY(cusolver_of(where));
  const dtype type = r.a.type();
  call_frame c(where);
  frame_matrices a(c, type, rows, values, count);
  frame_matrices b(c, type, rows, nrhs, count);
  const auto tau = c.bytes(values * size_of(type));
  const auto info = c.array<std::int32_t>(count + 1);
  const auto flags = c.array<std::uint32_t>(count);
  const cublasOperation_t adjoint = is_complex(type) ? CUBLAS_OP_C : CUBLAS_OP_T;
  const by_q how{.op = wide ? CUBLAS_OP_N : adjoint, .reflectors = values};
  c.share(TRY(geqrf_bytes(*solver, *a, r.a.address())));
  c.share(TRY(ormqr_bytes(*solver, *a, how, *b, r.a.address())));
  TRY(c.begin());
  TRY(clear(flags, count * i32_bytes, where));
  TRY(copy(wide ? r.a.transpose() : r.a, as_tensor(*a, r.a), where));
  if (wide) {
    TRY(conjugate(*a, where));
    TRY(clear(b->first, bytes_of(*b), where));
  }
  TRY(set_aside_not_finite(*a, part::all, flags, where));
  TRY(copy(r.b, first_rows(as_tensor(*b, r.b), m), where));
  TRY(for_each_matrix(count, [&](std::int64_t matrix) -> result<void> {
    const on_matrix on{*solver, c, *a, matrix, info + count};
    TRY(geqrf(on, tau));
    if (!wide) {
      TRY(ormqr(on, how, tau, *b));
      return solve_upper(CUBLAS_OP_N, *a, values, *b, matrix, where);
    }
    TRY(solve_upper(adjoint, *a, values, *b, matrix, where));
    return ormqr(on, how, tau, *b);
  }));
  TRY(find_zero_on_diagonal(*a, info, where));
  TRY(copy(first_rows(as_tensor(*b, r.x), n), r.x, where));
  return report({.info = info, .flags = flags, .count = count, .words = solver::rank_deficient},
                r.info, r.a, failure, where);
}

double epsilon_of(dtype type) noexcept {
  return real_of(type) == dtype::f32 ? static_cast<double>(std::numeric_limits<float>::epsilon())
                                     : std::numeric_limits<double>::epsilon();
}

/// x = right · diag(1 / s) · leftᴴ · b, without the singular values that count as zero.
result<void> run_by_values(const solver::gels& r, lane& where, late_failure failure) {
  const std::int64_t count = cuda::batch_of(r.a);
  const std::int64_t m = rows_of(r.a);
  const std::int64_t n = columns_of(r.a);
  const std::int64_t nrhs = columns_of(r.x);
  const std::int64_t values = std::min(m, n);
  const auto solver = TRY(cusolver_of(where));
  const dtype type = r.a.type();
  call_frame frame(where);
  const auto info = frame.array<std::int32_t>(count);
  const auto flags = frame.array<std::uint32_t>(count);
  frame_matrices b(frame, type, m, nrhs, count);
  frame_matrices c(frame, type, values, nrhs, count);
  frame_matrices x(frame, type, n, nrhs, count);
  decomposition parts(frame, *solver, {.vectors = solver::singular_vectors::thin}, type, m, n,
                      count);
  frame.share(TRY(parts.bytes(r.a.address())));
  TRY(frame.begin());
  TRY(clear(flags, count * i32_bytes, where));
  TRY(parts.load(r.a, flags, where));
  TRY(copy(r.b, as_tensor(*b, r.b), where));
  TRY(parts.run(info, where));
  // Only the vectors that belong to values: there may be more.
  matrices left = parts.left();
  matrices right = parts.right();
  left.columns = right.columns = values;
  const auto each = [&](cublasOperation_t op, const matrices& by, const matrices& from,
                        const matrices& to) {
    return for_each_matrix(nrhs > 0 ? count : 0, [&](std::int64_t matrix) {
      return multiply(op, by, from, to, matrix, where);
    });
  };
  TRY(each(CUBLAS_OP_C, left, *b, *c));
  const double rcond =
      r.rcond >= 0 ? r.rcond : static_cast<double>(std::max(m, n)) * epsilon_of(type);
  auto* const rank = r.rank.null() ? nullptr : r.rank.data<std::int32_t>();
  TRY(divide_by_values(*c, parts.s(), values, rcond, rank, flags, where));
  TRY(each(CUBLAS_OP_N, right, *c, *x));
  if (nrhs > 0) TRY(copy(as_tensor(*x, r.x), r.x, where));
  return report({.info = info, .flags = flags, .count = count, .words = solver::off_diagonals},
                r.info, r.a, failure, where);
}

result<void> run_gels(const solver::gels& r, lane& where, late_failure failure) {
  if (cuda::batch_of(r.a) == 0) return {};
  const bool by_values = r.driver == solver::least_squares_driver::svd;
  if (r.a.empty() || (!by_values && r.x.empty())) return run_empty(r, where);
  return by_values ? run_by_values(r, where, failure) : run_by_qr(r, where, failure);
}

const plugin_operations least_squares_operations([](operation_table& table) {
  add<solver::gels>(table, run_gels, effort::blocks_host);
});

}  // namespace
}  // namespace troupe::cuda
