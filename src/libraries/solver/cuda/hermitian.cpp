#include "libraries/solver/cuda/kernels/hermitian.hpp"

#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/solver/cuda/kernels/outcomes.hpp"
#include "libraries/solver/cuda/kernels/shaping.hpp"

#include <troupe/solver/indefinite.hpp>

namespace troupe::cuda {
namespace {

using place = staged::place;

result<void> run_hetrf(const solver::hetrf& r, lane& where, late_failure failure) {
  if (r.a.empty()) return clear(r.info, where);
  const bool upper = r.uplo == blas::uplo::upper;
  call_frame c(where);
  staged factor(c, r.factor, place::columns, {.reads = &r.a, .writes = true});
  const auto info = c.array<std::int32_t>(factor->count);
  TRY(c.begin());
  TRY(factor_hermitian(*factor, upper, r.pivots.data<std::int64_t>(), info, where));
  if (!r.a.same_view(r.factor))
    TRY(shape_triangle(*factor, {.upper = upper, .zero_other = true}, where));
  TRY(c.end());
  return report({.info = info, .count = factor->count, .words = solver::zero_pivot}, r.info, r.a,
                failure, where);
}

template <class R, bool Symmetric>
result<void> run_solve(const R& r, lane& where, late_failure failure) {
  if (r.factor.empty()) return {};
  call_frame c(where);
  staged factor(c, r.factor, place::columns, {.reads = &r.factor});
  staged x(c, r.x, place::columns, {.reads = &r.b, .writes = true});
  const auto pivots = c.array<std::int64_t>(r.pivots.count());
  const auto first_bad = c.array<std::uint64_t>(1);
  TRY(c.begin());
  TRY(admit_block_pivots(r.pivots, pivots, first_bad, where));
  TRY(solve_indefinite(*factor, {.upper = r.uplo == blas::uplo::upper, .symmetric = Symmetric},
                       pivots, *x, where));
  TRY(c.end());
  return report_block_pivots(r.pivots, first_bad, failure, where);
}

const plugin_operations hermitian_operations([](operation_table& table) {
  add<solver::hetrf>(table, run_hetrf);
  add<solver::hetrs>(table, run_solve<solver::hetrs, false>);
  add<solver::sytrs>(table, run_solve<solver::sytrs, true>);
});

}  // namespace
}  // namespace troupe::cuda
