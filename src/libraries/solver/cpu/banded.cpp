#include "libraries/solver/cpu/lapack.hpp"
#include "libraries/solver/cpu/outcomes.hpp"
#include "libraries/solver/cpu/scratch.hpp"

#include <troupe/plugin/static_registration.hpp>
#include <troupe/solver/banded.hpp>

#include <cmath>
#include <complex>

namespace troupe::cpu {
namespace {

template <class T>
result<void> gbsv(const solver::gbsv& r, lane_context& lane) {
  const std::int64_t count = batch_count(r.x);
  outcomes ended(r.x, r.info);
  if (count == 0) return {};
  const std::int64_t n = r.ab.extent(r.ab.rank() - 1);
  const std::int64_t diagonals = r.kl + r.ku + 1;
  const std::int64_t ld = r.kl + diagonals;  // exchanges of rows fill kl more diagonals
  scratch memory;
  const column_major_place<T> place(memory, matrix_of<T>(r.x, 0));
  const auto band = memory.add<T>(ld * n);
  const auto pivots = memory.add<blasint>(n);
  if (auto taken = memory.take(lane); !taken) return taken;
  for (std::int64_t i = 0; i < count; ++i) {
    auto stored = column_major(memory[band], ld, n);
    stored.at += r.kl;
    stored.rows = diagonals;
    copy_matrix(matrix_of<T>(r.ab, i), stored);
    const auto x = matrix_of<T>(r.x, i);
    const auto work = place.of(memory, x);
    copy_unless_same(matrix_of<T>(r.b, i), work);
    const std::int64_t ldb = work.ld();
    blasint info = 0;
    if (n > 0)
      solver_lapack<T>::gbsv(&n, &r.kl, &r.ku, &work.columns, memory[band], &ld, memory[pivots],
                             work.at, &ldb, &info);
    copy_unless_same(work, x);
    ended.note(i, info, solver::zero_pivot);
  }
  return ended.verdict();
}

template <class T>
result<void> pbsv(const solver::pbsv& r, lane_context& lane) {
  const std::int64_t count = batch_count(r.x);
  outcomes ended(r.x, r.info);
  if (count == 0) return {};
  const auto like = matrix_of<T>(r.ab, 0);
  const std::int64_t ld = like.rows;
  const std::int64_t k = ld - 1;
  const std::int64_t n = like.columns;
  const char side = letter(r.uplo);
  scratch memory;
  const column_major_place<T> place(memory, matrix_of<T>(r.x, 0));
  const auto copy = memory.add<T>(ld * n);
  if (auto taken = memory.take(lane); !taken) return taken;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto band = column_major(memory[copy], ld, n);
    copy_matrix(matrix_of<T>(r.ab, i), band);
    T* const diagonal = band.at + (r.uplo == blas::uplo::upper ? k : 0);
    for (std::int64_t j = 0; j < n; ++j)
      diagonal[j * ld] = std::real(diagonal[j * ld]);
    blasint info = 0;
    if (n > 0) solver_lapack<T>::pbtrf(&side, &n, &k, band.at, &ld, &info, 1);
    // OpenBLAS's own Cholesky takes a NaN for positive.
    const std::int64_t factored = info > 0 ? info - 1 : n;
    for (std::int64_t j = factored - 1; j >= 0; --j) {
      if (std::isnan(std::real(diagonal[j * ld]))) info = j + 1;
    }
    ended.note(i, info, solver::bad_minor);
    const auto x = matrix_of<T>(r.x, i);
    const auto work = place.of(memory, x);
    copy_unless_same(matrix_of<T>(r.b, i), work);
    const std::int64_t ldb = work.ld();
    if (info == 0 && !work.empty())
      solver_lapack<T>::pbtrs(&side, &n, &k, &work.columns, band.at, &ld, work.at, &ldb, &info, 1);
    copy_unless_same(work, x);
  }
  return ended.verdict();
}

result<void> run_gbsv(const solver::gbsv& r, lane_context& lane) {
  return with_classic_type(r.x.type(), [&]<class T>(T) { return gbsv<T>(r, lane); });
}
result<void> run_pbsv(const solver::pbsv& r, lane_context& lane) {
  return with_classic_type(r.x.type(), [&]<class T>(T) { return pbsv<T>(r, lane); });
}

const plugin_operations banded_operations([](operation_table& table) {
  table.add<solver::gbsv>(run_gbsv, effort::by_size);
  table.add<solver::pbsv>(run_pbsv, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
