#include "libraries/solver/cpu/lapack.hpp"
#include "libraries/solver/cpu/outcomes.hpp"
#include "libraries/solver/cpu/scratch.hpp"

#include <troupe/plugin/static_registration.hpp>
#include <troupe/solver/lu.hpp>

#include <algorithm>
#include <string>
#include <type_traits>

namespace troupe::cpu {
namespace {

template <class T>
std::int64_t factor(const matrix_view<T>& a, blasint* pivots) {
  blasint info = 0;
  const std::int64_t ld = a.ld();
  if (!a.empty()) solver_lapack<T>::getrf(&a.rows, &a.columns, a.at, &ld, pivots, &info);
  return info;
}

template <class T>
void solve(char trans, const matrix_view<T>& lu, const blasint* pivots, const matrix_view<T>& x) {
  if (x.empty()) return;
  blasint info = 0;
  const std::int64_t lda = lu.ld();
  const std::int64_t ldb = x.ld();
  solver_lapack<T>::getrs(&trans, &lu.rows, &x.columns, lu.at, &lda, pivots, x.at, &ldb, &info, 1);
}

/// LAPACK would follow a bad pivot out of the matrix.
result<void> check_pivots(const any_tensor& pivots, std::int64_t matrix) {
  const std::int64_t n = pivots.extent(pivots.rank() - 1);
  const auto* const all = vector_of<std::int64_t>(pivots, matrix);
  const auto* const bad = std::find_if(all, all + n, [n](auto p) { return p < 1 || p > n; });
  if (bad == all + n) return {};
  const std::string which = pivots.rank() > 1 ? "matrix " + std::to_string(matrix) + ": " : "";
  return error{.code = errc::invalid_argument,
               .message = which + "pivots[" + std::to_string(bad - all) + "] is " +
                          std::to_string(*bad) + ", not within 1 and " + std::to_string(n)};
}

static_assert(std::is_same_v<blasint, std::int64_t>);

template <class T>
result<void> getrf(const solver::getrf& r, lane_context& lane) {
  const std::int64_t count = batch_count(r.a);
  outcomes ended(r.a, r.info);
  if (count == 0) return {};
  scratch memory;
  const column_major_place<T> place(memory, matrix_of<T>(r.lu, 0));
  if (auto taken = memory.take(lane); !taken) return taken;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto lu = matrix_of<T>(r.lu, i);
    const auto work = place.of(memory, lu);
    copy_unless_same(matrix_of<T>(r.a, i), work);
    const std::int64_t info = factor(work, vector_of<std::int64_t>(r.pivots, i));
    copy_unless_same(work, lu);
    ended.note(i, info, solver::zero_pivot);
  }
  return ended.verdict();
}

template <class T>
result<void> getrs(const solver::getrs& r, lane_context& lane) {
  const std::int64_t count = batch_count(r.b);
  if (count == 0) return {};
  scratch memory;
  const column_major_place<T> factors(memory, matrix_of<T>(r.lu, 0));
  const column_major_place<T> place(memory, matrix_of<T>(r.x, 0));
  if (auto taken = memory.take(lane); !taken) return taken;
  for (std::int64_t i = 0; i < count; ++i) {
    if (auto good = check_pivots(r.pivots, i); !good) return good;
    const auto x = matrix_of<T>(r.x, i);
    const auto work = place.of(memory, x);
    copy_unless_same(matrix_of<T>(r.b, i), work);
    solve("NTC"[static_cast<int>(r.op_a)], factors.filled(memory, matrix_of<T>(r.lu, i)),
          vector_of<std::int64_t>(r.pivots, i), work);
    copy_unless_same(work, x);
  }
  return {};
}

template <class T>
result<void> getri(const solver::getri& r, lane_context& lane) {
  const std::int64_t count = batch_count(r.lu);
  outcomes ended(r.lu, r.info);
  if (count == 0) return {};
  scratch memory;
  const column_major_place<T> place(memory, matrix_of<T>(r.inverse, 0));
  const std::int64_t n = r.lu.extent(r.lu.rank() - 1);
  const std::int64_t least = std::max<std::int64_t>(n, 1);
  blasint lwork = -1;
  blasint info = 0;
  T best{};
  solver_lapack<T>::getri(&n, nullptr, &least, nullptr, &best, &lwork, &info);
  lwork = std::max(enough(best), least);
  const auto space = memory.add<T>(lwork);
  if (auto taken = memory.take(lane); !taken) return taken;
  for (std::int64_t i = 0; i < count; ++i) {
    if (auto good = check_pivots(r.pivots, i); !good) return good;
    const auto inverse = matrix_of<T>(r.inverse, i);
    const auto work = place.of(memory, inverse);
    copy_unless_same(matrix_of<T>(r.lu, i), work);
    const std::int64_t ld = work.ld();
    if (n > 0)
      solver_lapack<T>::getri(&n, work.at, &ld, vector_of<std::int64_t>(r.pivots, i), memory[space],
                              &lwork, &info);
    copy_unless_same(work, inverse);
    ended.note(i, n > 0 ? info : 0, solver::zero_pivot);
  }
  return ended.verdict();
}

template <class T>
result<void> gesv(const solver::gesv& r, lane_context& lane) {
  const std::int64_t count = batch_count(r.a);
  outcomes ended(r.a, r.info);
  if (count == 0) return {};
  scratch memory;
  const column_major_place<T> place(memory, matrix_of<T>(r.x, 0));
  const std::int64_t n = r.a.extent(r.a.rank() - 1);
  const auto factors = memory.add<T>(n * n);
  const auto pivots = memory.add<blasint>(n);
  if (auto taken = memory.take(lane); !taken) return taken;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto lu = column_major(memory[factors], n, n);
    copy_matrix(matrix_of<T>(r.a, i), lu);
    const std::int64_t info = factor(lu, memory[pivots]);
    ended.note(i, info, solver::zero_pivot);
    const auto x = matrix_of<T>(r.x, i);
    const auto work = place.of(memory, x);
    copy_unless_same(matrix_of<T>(r.b, i), work);
    if (info == 0) solve('N', lu, memory[pivots], work);
    copy_unless_same(work, x);
  }
  return ended.verdict();
}

result<void> run_getrf(const solver::getrf& r, lane_context& lane) {
  return with_classic_type(r.a.type(), [&]<class T>(T) { return getrf<T>(r, lane); });
}
result<void> run_getrs(const solver::getrs& r, lane_context& lane) {
  return with_classic_type(r.lu.type(), [&]<class T>(T) { return getrs<T>(r, lane); });
}
result<void> run_getri(const solver::getri& r, lane_context& lane) {
  return with_classic_type(r.lu.type(), [&]<class T>(T) { return getri<T>(r, lane); });
}
result<void> run_gesv(const solver::gesv& r, lane_context& lane) {
  return with_classic_type(r.a.type(), [&]<class T>(T) { return gesv<T>(r, lane); });
}

const plugin_operations lu_operations([](operation_table& table) {
  table.add<solver::getrf>(run_getrf, effort::by_size);
  table.add<solver::getrs>(run_getrs, effort::by_size);
  table.add<solver::getri>(run_getri, effort::by_size);
  table.add<solver::gesv>(run_gesv, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
