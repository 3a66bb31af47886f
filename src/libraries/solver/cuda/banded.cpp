#include "libraries/solver/cuda/kernels/banded.hpp"

#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/solver/cuda/kernels/outcomes.hpp"

#include <troupe/solver/banded.hpp>

namespace troupe::cuda {
namespace {

using place = staged::place;

/// Copies the storage of the request behind the first `above` rows of each matrix.
result<void> load_band(const any_tensor& ab, const matrices& band, std::int64_t above,
                       lane& where) {
  matrices part = band;
  part.first += above * size_of(band.type);
  part.rows -= above;
  return copy(ab, as_tensor(part, ab), where);
}

/// Enqueues a solve of systems whose storage gets `above` more rows.
template <class R, class Solve>
result<void> run_banded(const R& r, std::int64_t above, const solver::outcome_text& words,
                        const Solve& solve, lane& where, late_failure failure) {
  if (columns_of(r.ab) == 0 || cuda::batch_of(r.ab) == 0) return clear(r.info, where);
  call_frame c(where);
  frame_matrices band(c, r.ab.type(), rows_of(r.ab) + above, columns_of(r.ab),
                      cuda::batch_of(r.ab));
  staged x(c, r.x, place::columns, {.reads = &r.b, .writes = true});
  const auto info = c.array<std::int32_t>(band->count);
  TRY(c.begin());
  TRY(load_band(r.ab, *band, above, where));
  TRY(solve(*band, *x, info));
  TRY(c.end());
  return report({.info = info, .count = band->count, .words = words}, r.info, r.ab, failure, where);
}

result<void> run_gbsv(const solver::gbsv& r, lane& where, late_failure failure) {
  const auto solve = [&](const matrices& band, const matrices& x, std::int32_t* info) {
    return solve_by_lu({.band = band, .x = x, .kl = r.kl, .ku = r.ku, .info = info}, where);
  };
  return run_banded(r, r.kl, solver::zero_pivot, solve, where, failure);
}

result<void> run_pbsv(const solver::pbsv& r, lane& where, late_failure failure) {
  const auto solve = [&](const matrices& band, const matrices& x, std::int32_t* info) {
    return solve_by_cholesky({.band = band, .x = x, .ku = rows_of(r.ab) - 1, .info = info},
                             r.uplo == blas::uplo::upper, where);
  };
  return run_banded(r, 0, solver::bad_minor, solve, where, failure);
}

const plugin_operations banded_operations([](operation_table& table) {
  add<solver::gbsv>(table, run_gbsv);
  add<solver::pbsv>(table, run_pbsv);
});

}  // namespace
}  // namespace troupe::cuda
