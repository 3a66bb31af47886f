#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/solver/cuda/kernels/outcomes.hpp"
#include "libraries/solver/cuda/kernels/shaping.hpp"
#include "libraries/solver/cuda/routines/dense.hpp"

#include <troupe/solver/triangular.hpp>

namespace troupe::cuda {
namespace {

// Works on a copy, because a singular matrix must leave the result unchanged.
result<void> run_trtri(const solver::trtri& r, lane& where, late_failure failure) {
  if (r.a.empty()) return clear(r.info, where);
  const auto solver = TRY(cusolver_of(where));
  const bool upper = r.uplo == blas::uplo::upper;
  const bool unit = r.diag == blas::diag::unit;
  call_frame c(where);
  staged inverse(c, r.inverse, staged::place::copy, {.reads = &r.a, .writes = true});
  const std::int64_t count = inverse->count;
  const auto info = c.array<std::int32_t>(count + 1);
  c.share(TRY(trtri_bytes(*solver, *inverse, upper, unit, r.a.address())));
  TRY(c.begin());
  TRY(unit ? clear(info, count * i32_bytes, where) : find_zero_on_diagonal(*inverse, info, where));
  TRY(for_each_matrix(count, [&](std::int64_t matrix) {
    return trtri({*solver, c, *inverse, matrix, info + count}, upper, unit);
  }));
  // Restore the elements that are not referenced, because cuSOLVER overwrites them.
  const triangle_shape shape{.upper = upper, .zero_other = true, .unit_diagonal = unit};
  TRY(r.a.same_view(r.inverse) ? restore_beside(*inverse, r.inverse, shape, where)
                               : shape_triangle(*inverse, shape, where));
  TRY(restore_where_failed(*inverse, r.inverse, info, where));
  TRY(c.end());
  return report({.info = info, .count = count, .words = solver::zero_diagonal}, r.info, r.a,
                failure, where);
}

const plugin_operations triangular_operations([](operation_table& table) {
  add<solver::trtri>(table, run_trtri);
});

}  // namespace
}  // namespace troupe::cuda
