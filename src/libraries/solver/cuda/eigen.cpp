#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/solver/cuda/call.hpp"
#include "libraries/solver/cuda/kernels/outcomes.hpp"
#include "libraries/solver/cuda/kernels/shaping.hpp"
#include "libraries/solver/cuda/kernels/spectra.hpp"
#include "libraries/solver/cuda/routines/dense.hpp"

#include <troupe/solver/eigen.hpp>

namespace troupe::cuda {
namespace {

constexpr dtype complex_of(dtype type) noexcept {
  if (type == dtype::f32) return dtype::c64;
  return type == dtype::f64 ? dtype::c128 : type;
}

/// Eigenvalues and right eigenvectors of single matrices, which cuSOLVER offers.
struct right_problem {
  const cusolver_lane& solver;
  const matrices& a;

  [[nodiscard]] result<routine_bytes> bytes(const void* like) const {
    routine_bytes said;
    const cudaDataType type = as_cuda(a.type);
    TRY(check(cusolverDnXgeev_bufferSize(
                  solver.handle, solver.parameters, CUSOLVER_EIG_MODE_NOVECTOR,
                  CUSOLVER_EIG_MODE_VECTOR, a.rows, type, like, a.ld, as_cuda(complex_of(a.type)),
                  like, type, nullptr, a.rows, type, like, a.rows, type, &said.device, &said.host),
              "cusolverDnXgeev_bufferSize", solver.stream));
    return said;
  }
  /// Overwrites the matrix. `v` is packed and has as many matrices.
  [[nodiscard]] result<void> run(const call_frame& c, std::int64_t b, std::byte* w,
                                 const matrices& v, std::int32_t* info) const {
    const routine_bytes& bytes = c.shared_bytes();
    const cudaDataType type = as_cuda(a.type);
    return check(
        cusolverDnXgeev(solver.handle, solver.parameters, CUSOLVER_EIG_MODE_NOVECTOR,
                        CUSOLVER_EIG_MODE_VECTOR, a.rows, type, a.at(b), a.ld,
                        as_cuda(complex_of(a.type)), w, type, nullptr, a.rows, type, v.at(b), v.ld,
                        type, c.shared(), bytes.device, c.shared_host(), bytes.host, info),
        "cusolverDnXgeev", solver.stream);
  }
};

/// Left eigenvectors are right eigenvectors of the adjoint, whose eigenvalues are the conjugates.
/// If both are requested, each eigenvalue gets the left vectors of the nearest one of the adjoint.
result<void> run_eig(const solver::eig& r, lane& where, late_failure failure) {
  const std::int64_t count = cuda::batch_of(r.a);
  const std::int64_t n = columns_of(r.a);
  if (count == 0) return {};
  if (n == 0) return clear(r.info, where);
  const auto solver = TRY(cusolver_of(where));
  const bool real = !is_complex(r.a.type());
  const dtype complex = complex_of(r.a.type());
  const bool only_left = r.left && !r.right;
  call_frame c(where);
  frame_matrices a(c, r.a.type(), n, n, count);
  const auto w = c.bytes(n * count * size_of(complex));
  const auto other = c.bytes(n * count * size_of(complex));
  frame_matrices raw(c, r.a.type(), n, n, count);
  frame_matrices spread(c, complex, n, n, count);
  frame_matrices sorted(c, complex, n, n, count, r.left && r.right);
  const auto taken = c.array<std::int32_t>(2 * n);
  const auto info = c.array<std::int32_t>(2 * count);
  const auto flags = c.array<std::uint32_t>(count);
  const right_problem problem{*solver, *a};
  c.share(TRY(problem.bytes(r.a.address())));
  TRY(c.begin());
  const std::int64_t step = n * size_of(complex);

  // Writes eigenvalues to `to` and vectors to `spread`.
  const auto solve = [&](bool adjoint, std::byte* to, std::int32_t* its_info) -> result<void> {
    TRY(clear(flags, count * i32_bytes, where));
    TRY(copy(adjoint ? r.a.transpose() : r.a, as_tensor(*a, r.a), where));
    if (adjoint) TRY(conjugate(*a, where));
    TRY(set_aside_not_finite(*a, part::all, flags, where));
    return for_each_matrix(count, [&](std::int64_t b) -> result<void> {
      TRY(problem.run(c, b, to + b * step, real ? *raw : *spread, its_info + b));
      return real ? spread_vectors(*raw, to + b * step, *spread, b, where) : result<void>();
    });
  };

  if (!only_left) {
    TRY(solve(false, w, info));
    if (r.right) TRY(copy(as_tensor(*spread, r.vr), r.vr, where));
  }
  if (r.left) {
    TRY(solve(true, other, info + (only_left ? 0 : count)));
    if (only_left) {
      // For a real matrix, the conjugate of a vector belongs to the conjugate eigenvalue, so
      // conjugating the vectors keeps the order of pairs.
      TRY(real ? conjugate(*spread, where) : conjugate_values(other, complex, n * count, where));
      TRY(copy(as_tensor(*spread, r.vl), r.vl, where));
    } else {
      TRY(for_each_matrix(count, [&](std::int64_t b) {
        return match_vectors(*spread, other + b * step, w + b * step, taken, *sorted, b, where);
      }));
      TRY(copy(as_tensor(*sorted, r.vl), r.vl, where));
    }
  }
  std::byte* const values = only_left ? other : w;
  const any_tensor found = any_tensor::unowned(values, complex, shape(r.w.extents()));
  TRY(copy(found, r.w, where));
  return report(
      {.info = info, .flags = flags, .count = count, .words = solver::missing_eigenvalues}, r.info,
      r.a, failure, where);
}

/// See limits::cusolver::pencils.
result<void> refuse_pencils(const solver::eig_generalised&, lane&) {
  return error{.code = errc::unsupported,
               .message =
                   "not offered: cuSOLVER has no xGGEV; ask a CPU device, use "
                   "eigh_generalised if a is symmetric and b positive definite, or if b is "
                   "far from singular eig of gesv's b⁻¹ · a"};
}

const plugin_operations eigen_operations([](operation_table& table) {
  add<solver::eig>(table, run_eig, effort::blocks_host);
  add<solver::eig_generalised>(table, refuse_pencils);
});

}  // namespace
}  // namespace troupe::cuda
