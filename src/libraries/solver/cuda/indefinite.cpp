#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/solver/cuda/kernels/outcomes.hpp"
#include "libraries/solver/cuda/kernels/shaping.hpp"
#include "libraries/solver/cuda/routines/dense.hpp"

#include <troupe/solver/indefinite.hpp>

namespace troupe::cuda {
namespace {

using place = staged::place;

result<void> run_sytrf(const solver::sytrf& r, lane& where, late_failure failure) {
  if (r.a.empty()) return clear(r.info, where);
  const auto solver = TRY(cusolver_of(where));
  call_frame c(where);
  staged factor(c, r.factor, place::columns, {.reads = &r.a, .writes = true});
  const bool upper = r.uplo == blas::uplo::upper;
  const std::int64_t count = factor->count;
  const std::int64_t n = factor->rows;
  const auto info = c.array<std::int32_t>(count);
  const auto pivots = c.array<std::int32_t>(count * n);
  c.share(TRY(sytrf_bytes(*solver, *factor)));
  TRY(c.begin());
  TRY(for_each_matrix(count, [&](std::int64_t matrix) {
    return sytrf({*solver, c, *factor, matrix, info + matrix}, upper, pivots + matrix * n);
  }));
  TRY(widen_pivots(pivots, r.pivots.data<std::int64_t>(), count * n, where));
  if (!r.a.same_view(r.factor))
    TRY(shape_triangle(*factor, {.upper = upper, .zero_other = true}, where));
  TRY(c.end());
  return report({.info = info, .count = count, .words = solver::zero_pivot}, r.info, r.a, failure,
                where);
}

// cuSOLVER does not say whether this routine waits for the device to choose pivots.
const plugin_operations indefinite_operations([](operation_table& table) {
  add<solver::sytrf>(table, run_sytrf, effort::blocks_host);
});

}  // namespace
}  // namespace troupe::cuda
