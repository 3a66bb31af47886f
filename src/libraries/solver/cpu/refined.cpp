#include "libraries/solver/cpu/lapack.hpp"
#include "libraries/solver/cpu/outcomes.hpp"
#include "libraries/solver/cpu/scratch.hpp"

#include <troupe/plugin/static_registration.hpp>
#include <troupe/solver/refined.hpp>

namespace troupe::cpu {
namespace {

template <class T>
result<void> gesv_refined(const solver::gesv_refined& r, lane_context& lane) {
  const std::int64_t count = batch_count(r.a);
  outcomes ended(r.a, r.info);
  if (count == 0) return {};
  scratch memory;
  const column_major_place<T> place(memory, matrix_of<T>(r.x, 0));
  const std::int64_t n = r.a.extent(r.a.rank() - 1);
  const std::int64_t nrhs = r.x.extent(r.x.rank() - 1);
  const auto copy = memory.add<T>(n * n);
  const auto sides = memory.add<T>(n * nrhs);
  const auto residuals = memory.add<T>(n * nrhs);
  const auto low = memory.add<T>(n * (n + nrhs));  // of half the precision, so half would do
  const auto norms = memory.add<real_t<T>>(n);
  const auto pivots = memory.add<blasint>(n);
  if (auto taken = memory.take(lane); !taken) return taken;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto a = column_major(memory[copy], n, n);
    const auto b = column_major(memory[sides], n, nrhs);
    copy_matrix(matrix_of<T>(r.a, i), a);
    copy_matrix(matrix_of<T>(r.b, i), b);
    const auto x = matrix_of<T>(r.x, i);
    const auto work = place.of(memory, x);
    const std::int64_t ld = a.ld();
    const std::int64_t ldx = work.ld();
    blasint iterations = 0;
    blasint info = 0;
    if (n > 0) {
      if constexpr (complex_v<T>) {
        zcgesv_(&n, &nrhs, a.at, &ld, memory[pivots], b.at, &ld, work.at, &ldx, memory[residuals],
                memory[low], memory[norms], &iterations, &info);
      } else {
        dsgesv_(&n, &nrhs, a.at, &ld, memory[pivots], b.at, &ld, work.at, &ldx, memory[residuals],
                memory[low], &iterations, &info);
      }
    }
    copy_unless_same(work, x);
    if (!r.iterations.null())
      r.iterations.data<std::int32_t>()[i] = static_cast<std::int32_t>(iterations);
    ended.note(i, info, solver::zero_pivot);
  }
  return ended.verdict();
}

result<void> run_gesv_refined(const solver::gesv_refined& r, lane_context& lane) {
  return r.a.type() == dtype::f64 ? gesv_refined<double>(r, lane) : gesv_refined<c128>(r, lane);
}

const plugin_operations operations([](operation_table& table) {
  table.add<solver::gesv_refined>(run_gesv_refined, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
