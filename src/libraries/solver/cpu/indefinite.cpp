#include "libraries/solver/cpu/lapack.hpp"
#include "libraries/solver/cpu/outcomes.hpp"
#include "libraries/solver/cpu/scratch.hpp"
#include "libraries/solver/shared/block_pivots.hpp"

#include <troupe/plugin/static_registration.hpp>
#include <troupe/solver/indefinite.hpp>

#include <algorithm>
#include <string>

namespace troupe::cpu {
namespace {

result<void> check_block_pivots(const any_tensor& pivots, std::int64_t matrix) {
  const std::int64_t n = pivots.extent(pivots.rank() - 1);
  const auto* const all = vector_of<std::int64_t>(pivots, matrix);
  const std::int64_t bad = solver::first_bad_block_pivot(all, n);
  if (bad == n) return {};
  const std::string which = pivots.rank() > 1 ? "matrix " + std::to_string(matrix) + ": " : "";
  return error{.code = errc::invalid_argument,
               .message = which + "pivots[" + std::to_string(bad) + "] is " +
                          std::to_string(all[bad]) + ", not within 1 and " + std::to_string(n) +
                          std::string(solver::not_a_pair)};
}

/// `routine` is xSYTRF or xHETRF.
template <class T, class R, class Routine>
result<void> factor_blocks(const R& r, Routine routine, lane_context& lane) {
  const std::int64_t count = batch_count(r.a);
  outcomes ended(r.a, r.info);
  if (count == 0) return {};
  scratch memory;
  const auto like = matrix_of<T>(r.factor, 0);
  const column_major_place<T> place(memory, like);
  const char side = letter(r.uplo);
  const std::int64_t least = std::max<std::int64_t>(like.rows, 1);
  blasint lwork = -1;
  blasint info = 0;
  T best{};
  routine(&side, &like.rows, nullptr, &least, nullptr, &best, &lwork, &info, 1);
  lwork = std::max(enough(best), least);
  const auto space = memory.add<T>(lwork);
  if (auto taken = memory.take(lane); !taken) return taken;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto a = matrix_of<T>(r.a, i);
    const auto factor = matrix_of<T>(r.factor, i);
    const auto work = place.of(memory, factor);
    if (a.at != work.at) copy_triangle(r.uplo, a, work);
    const std::int64_t ld = work.ld();
    if (work.rows > 0)
      routine(&side, &work.rows, work.at, &ld, vector_of<std::int64_t>(r.pivots, i), memory[space],
              &lwork, &info, 1);
    if (place.is_packed()) copy_triangle(r.uplo, work, factor);
    if (a.at != factor.at) clear_beside(r.uplo, factor);
    ended.note(i, work.rows > 0 ? info : 0, solver::zero_pivot);
  }
  return ended.verdict();
}

/// `routine` is xSYTRS or xHETRS.
template <class T, class R, class Routine>
result<void> solve_blocks(const R& r, Routine routine, lane_context& lane) {
  const std::int64_t count = batch_count(r.b);
  if (count == 0) return {};
  scratch memory;
  const column_major_place<T> factors(memory, matrix_of<T>(r.factor, 0));
  const column_major_place<T> place(memory, matrix_of<T>(r.x, 0));
  if (auto taken = memory.take(lane); !taken) return taken;
  for (std::int64_t i = 0; i < count; ++i) {
    if (auto good = check_block_pivots(r.pivots, i); !good) return good;
    const auto x = matrix_of<T>(r.x, i);
    const auto work = place.of(memory, x);
    copy_unless_same(matrix_of<T>(r.b, i), work);
    const auto factor = factors.filled(memory, matrix_of<T>(r.factor, i));
    const char side = letter(r.uplo);
    const std::int64_t lda = factor.ld();
    const std::int64_t ldb = work.ld();
    blasint info = 0;
    if (!work.empty())
      routine(&side, &work.rows, &work.columns, factor.at, &lda,
              vector_of<std::int64_t>(r.pivots, i), work.at, &ldb, &info, 1);
    copy_unless_same(work, x);
  }
  return {};
}

result<void> run_sytrf(const solver::sytrf& r, lane_context& lane) {
  return with_classic_type(
      r.a.type(), [&]<class T>(T) { return factor_blocks<T>(r, solver_lapack<T>::sytrf, lane); });
}
result<void> run_sytrs(const solver::sytrs& r, lane_context& lane) {
  return with_classic_type(r.factor.type(), [&]<class T>(T) {
    return solve_blocks<T>(r, solver_lapack<T>::sytrs, lane);
  });
}
result<void> run_hetrf(const solver::hetrf& r, lane_context& lane) {
  return r.a.type() == dtype::c64 ? factor_blocks<c64>(r, solver_lapack<c64>::hetrf, lane)
                                  : factor_blocks<c128>(r, solver_lapack<c128>::hetrf, lane);
}
result<void> run_hetrs(const solver::hetrs& r, lane_context& lane) {
  return r.factor.type() == dtype::c64 ? solve_blocks<c64>(r, solver_lapack<c64>::hetrs, lane)
                                       : solve_blocks<c128>(r, solver_lapack<c128>::hetrs, lane);
}

const plugin_operations indefinite_operations([](operation_table& table) {
  table.add<solver::sytrf>(run_sytrf, effort::by_size);
  table.add<solver::sytrs>(run_sytrs, effort::by_size);
  table.add<solver::hetrf>(run_hetrf, effort::by_size);
  table.add<solver::hetrs>(run_hetrs, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
