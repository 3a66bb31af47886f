#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/failure.hpp"
#include "base/try.hpp"
#include "libraries/solver/cuda/call.hpp"
#include "libraries/solver/cuda/kernels/outcomes.hpp"
#include "libraries/solver/cuda/kernels/shaping.hpp"
#include "libraries/solver/cuda/routines/dense.hpp"

#include <troupe/solver/refined.hpp>

#include <algorithm>
#include <vector>

namespace troupe::cuda {
namespace {

template <class F>
result<void> for_refined_type(dtype type, F f) {
  return type == dtype::f64 ? f(double{}) : f(c128{});
}

/// True if the routine reports that refinement does not converge.
bool is_about_the_matrix(const error& why) noexcept {
  return why.code == errc::library_error &&
         (why.vendor_code == CUSOLVER_STATUS_IRS_MATRIX_SINGULAR ||
          why.vendor_code == CUSOLVER_STATUS_IRS_OUT_OF_RANGE);
}

// If refinement does not converge, factors the matrix here: see limits::cusolver::refinement.
result<void> run_gesv_refined(const solver::gesv_refined& r, lane& where, late_failure failure) {
  const std::int64_t count = cuda::batch_of(r.a);
  const std::int64_t n = columns_of(r.a);
  const std::int64_t nrhs = columns_of(r.x);
  if (count == 0) return {};
  const auto solver = TRY(cusolver_of(where));
  call_frame c(where);
  frame_matrices a(c, r.a.type(), n, n, count);
  // Without right sides, solve once for zeros, so that a singular matrix is still reported.
  const std::int64_t sides = std::max<std::int64_t>(nrhs, 1);
  frame_matrices b(c, r.a.type(), n, sides, count);
  frame_matrices x(c, r.a.type(), n, sides, count);
  const auto pivots = c.array<std::int64_t>(n);
  const auto info = c.array<std::int32_t>(count + 1);
  const bool solves = n > 0;
  if (solves) {
    TRY(for_refined_type(r.a.type(), [&]<class T>(T) {
      T* const any = r.a.data<T>();
      std::size_t bytes = 0;
      auto asked = solver_routines<T>::refined_size(
          *solver, narrow(n), narrow(sides), any, narrow(n), reinterpret_cast<int*>(any), any,
          narrow(n), any, narrow(n), static_cast<void*>(any), &bytes);
      c.share(bytes);
      return asked;
    }));
    c.share(TRY(getrf_bytes(*solver, *a, r.a.address())));
  }
  TRY(c.begin());
  TRY(clear(info, count * i32_bytes, where));
  const auto load = [&]() -> result<void> {
    TRY(copy(r.a, as_tensor(*a, r.a), where));
    return nrhs == 0 ? clear(b->first, bytes_of(*b), where) : copy(r.b, as_tensor(*b, r.b), where);
  };
  TRY(load());
  std::vector<std::int64_t> left;
  TRY(for_refined_type(a->type, [&]<class T>(T) {
    return for_each_matrix(count, [&](std::int64_t matrix) -> result<void> {
      int iterations = 0;
      if (solves) {
        auto called = solver_routines<T>::refined(
            *solver, narrow(n), narrow(sides), a->template at<T>(matrix), narrow(a->ld),
            reinterpret_cast<int*>(pivots.get()), b->template at<T>(matrix), narrow(b->ld),
            x->template at<T>(matrix), narrow(x->ld), static_cast<void*>(c.shared()),
            c.shared_bytes().device, &iterations, info + matrix);
        if (!called && !is_about_the_matrix(called.error())) return called;
        if (!called) iterations = std::min(iterations, -1);
        if (iterations < 0) left.push_back(matrix);
      }
      if (r.iterations.null()) return {};
      // The source is pageable memory: it is read before the call returns.
      return check(cudaMemcpyAsync(r.iterations.data<std::int32_t>() + matrix, &iterations,
                                   sizeof iterations, cudaMemcpyDefault, where.stream()),
                   "cudaMemcpyAsync");
    });
  }));
  if (!left.empty()) TRY(load());
  for (const std::int64_t matrix : left) {
    TRY(getrf({*solver, c, *a, matrix, info + matrix}, pivots));
    TRY(getrs({*solver, c, *a, matrix, info + count}, CUBLAS_OP_N, pivots, *b));
    TRY(check(cudaMemcpyAsync(x->at(matrix), b->at(matrix),
                              static_cast<std::size_t>(n * sides * size_of(a->type)),
                              cudaMemcpyDeviceToDevice, where.stream()),
              "cudaMemcpyAsync"));
  }
  if (nrhs > 0) TRY(copy(as_tensor(*x, r.x), r.x, where));
  return report({.info = info, .count = count, .words = solver::zero_pivot}, r.info, r.a, failure,
                where);
}

const plugin_operations refined_operations([](operation_table& table) {
  add<solver::gesv_refined>(table, run_gesv_refined, effort::blocks_host);
});

}  // namespace
}  // namespace troupe::cuda
