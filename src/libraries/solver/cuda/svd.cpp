#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/solver/cuda/kernels/outcomes.hpp"
#include "libraries/solver/cuda/kernels/shaping.hpp"
#include "libraries/solver/cuda/kernels/spectra.hpp"
#include "libraries/solver/cuda/routines/decomposition.hpp"
#include "libraries/solver/cuda/routines/dense.hpp"
#include "libraries/solver/cuda/routines/products.hpp"

#include <troupe/solver/svd.hpp>

#include <algorithm>

namespace troupe::cuda {
namespace {

using place = staged::place;
using solver::singular_vectors;
using solver::svd_driver;

/// Writes the first columns of `m`, as many as `to` has.
result<void> write_columns(const matrices& m, const any_tensor& to, lane& where) {
  return copy(first_columns(as_tensor(m, to), columns_of(to)), to, where);
}
/// The same for the rows of the adjoint. Conjugates `m`.
result<void> write_adjoint(const matrices& m, const any_tensor& to, lane& where) {
  TRY(conjugate(m, where));
  return write_columns(m, to.transpose(), where);
}

/// Matrices without elements have no singular values; their bases are unit vectors.
result<void> run_empty(const solver::svd& r, lane& where) {
  for (const any_tensor* const basis : {&r.u, &r.vh}) {
    if (r.vectors != singular_vectors::full || basis->empty()) continue;
    call_frame c(where);
    staged vectors(c, *basis, place::columns, {.writes = true});
    TRY(c.begin());
    TRY(fill_identity(*vectors, where));
    TRY(c.end());
  }
  return clear(r.info, where);
}

result<void> run_whole(const solver::svd& r, lane& where, late_failure failure) {
  const std::int64_t count = cuda::batch_of(r.a);
  const auto solver = TRY(cusolver_of(where));
  call_frame c(where);
  const auto info = c.array<std::int32_t>(count);
  const auto flags = c.array<std::uint32_t>(count);
  decomposition parts(c, *solver, {.driver = r.driver, .vectors = r.vectors}, r.a.type(),
                      rows_of(r.a), columns_of(r.a), count);
  c.share(TRY(parts.bytes(r.a.address())));
  TRY(c.begin());
  TRY(clear(flags, count * i32_bytes, where));
  TRY(parts.load(r.a, flags, where));
  TRY(parts.run(info, where));
  TRY(copy_first(parts.s(), parts.values(), r.s, where));
  if (r.vectors != singular_vectors::none) {
    TRY(write_columns(parts.left(), r.u, where));
    TRY(write_adjoint(parts.right(), r.vh, where));
  }
  return report({.info = info, .flags = flags, .count = count, .words = solver::off_diagonals},
                r.info, r.a, failure, where);
}

/// Makes the columns of matrices an orthonormal basis, by QR.
class orthonormal_basis {
 public:
  orthonormal_basis(call_frame& c, const cusolver_lane& solver, const matrices& m) noexcept
      : frame_(c),
        solver_(solver),
        m_(m),
        tau_(c.bytes(m.columns * size_of(m.type))),
        info_(c.array<std::int32_t>(1)) {}

  [[nodiscard]] result<void> plan(const void* like) {
    frame_.share(TRY(geqrf_bytes(solver_, m_, like)));
    frame_.share(TRY(orgqr_bytes(solver_, m_, m_.columns, like)));
    return {};
  }
  [[nodiscard]] result<void> run(std::int64_t matrix) const {
    const on_matrix on{solver_, frame_, m_, matrix, info_};
    TRY(geqrf(on, tau_));
    return orgqr(on, m_.columns, tau_);
  }

 private:
  call_frame& frame_;
  const cusolver_lane& solver_;
  const matrices& m_;
  frame_array<std::byte> tau_;
  frame_array<std::int32_t> info_;
};

/// Source: Halko, Martinsson, Tropp, "Finding structure with randomness", 2011, algorithms 4.4 and
/// 5.1. cuSOLVER's Xgesvdr takes no seed.
result<void> run_randomised(const solver::svd& r, lane& where, late_failure failure) {
  const std::int64_t count = cuda::batch_of(r.a);
  const std::int64_t m = rows_of(r.a);
  const std::int64_t n = columns_of(r.a);
  const std::int64_t kept = r.s.extent(r.s.rank() - 1);
  const std::int64_t width = std::min(kept + r.oversampling, std::min(m, n));
  const auto solver = TRY(cusolver_of(where));
  const dtype type = r.a.type();
  call_frame c(where);
  const auto info = c.array<std::int32_t>(count);
  const auto flags = c.array<std::uint32_t>(count);
  frame_matrices a(c, type, m, n, count);
  frame_matrices range(c, type, m, width, count);
  frame_matrices corange(c, type, n, width, count);
  frame_matrices left(c, type, m, width, count);
  orthonormal_basis range_basis(c, *solver, *range);
  orthonormal_basis corange_basis(c, *solver, *corange);
  // Decomposes (Qᴴ · a)ᴴ, which has as many rows as a has columns.
  decomposition parts(c, *solver, {.driver = svd_driver::jacobi, .vectors = r.vectors}, type, n,
                      width, count);
  TRY(range_basis.plan(r.a.address()));
  TRY(corange_basis.plan(r.a.address()));
  c.share(TRY(parts.bytes(r.a.address())));
  TRY(c.begin());
  TRY(clear(flags, count * i32_bytes, where));
  TRY(copy(r.a, as_tensor(*a, r.a), where));
  TRY(set_aside_not_finite(*a, part::all, flags, where));
  TRY(fill_normal(*corange, r.seed, where));
  TRY(for_each_matrix(count, [&](std::int64_t b) -> result<void> {
    const auto to_range = [&]() -> result<void> {
      TRY(multiply(CUBLAS_OP_N, *a, *corange, *range, b, where));
      return range_basis.run(b);
    };
    TRY(to_range());
    for (std::int64_t again = 0; again < r.iterations; ++again) {
      TRY(multiply(CUBLAS_OP_C, *a, *range, *corange, b, where));
      TRY(corange_basis.run(b));
      TRY(to_range());
    }
    return multiply(CUBLAS_OP_C, *a, *range, parts.tall(), b, where);
  }));
  TRY(parts.run(info, where));
  TRY(copy_first(parts.s(), parts.values(), r.s, where));
  if (r.vectors != singular_vectors::none) {
    TRY(for_each_matrix(count, [&](std::int64_t b) {
      return multiply(CUBLAS_OP_N, *range, parts.right(), *left, b, where);
    }));
    TRY(write_columns(*left, r.u, where));
    TRY(write_adjoint(parts.left(), r.vh, where));
  }
  return report({.info = info, .flags = flags, .count = count, .words = solver::off_diagonals},
                r.info, r.a, failure, where);
}

result<void> run_svd(const solver::svd& r, lane& where, late_failure failure) {
  if (cuda::batch_of(r.a) == 0) return {};
  if (r.a.empty()) return run_empty(r, where);
  return r.driver == svd_driver::randomised ? run_randomised(r, where, failure)
                                            : run_whole(r, where, failure);
}

const plugin_operations svd_operations([](operation_table& table) {
  add<solver::svd>(table, run_svd, effort::blocks_host);
});

}  // namespace
}  // namespace troupe::cuda
