#include "backend/cpu/blas/triangular.hpp"

#include <troupe/ops/blas/level3_triangular.hpp>
#include <troupe/worker/plugin.hpp>

namespace troupe::cpu {
namespace {

result<void> run_trmm(const blas::trmm& r, lane_context&) {
  if (!r.b.empty()) with_triangle(r, []<class T>(T) { return routines<T>::trmm; });
  return {};
}

result<void> run_trsm(const blas::trsm& r, lane_context&) {
  if (!r.b.empty()) with_triangle(r, []<class T>(T) { return routines<T>::trsm; });
  return {};
}

const plugin_operations operations([](operation_table& table) {
  table.add<blas::trmm>(run_trmm, effort::by_size);
  table.add<blas::trsm>(run_trsm, effort::by_size);
});

}  // namespace

}  // namespace troupe::cpu
