#include "libraries/elementwise/cuda/kernels/indexing.hpp"

#include "backend/cuda/context/executor.hpp"

namespace troupe::cuda {
namespace {

using elementwise::row_change;
using elementwise::row_operands;

result<void> run_gather(const elementwise::gather_rows& q, lane& where, late_failure failure) {
  return enqueue_gather(row_operands::of(q.y, q.indices, q.table), size_of(q.y.type()), where,
                        failure);
}
result<void> run_gradient(const elementwise::gather_rows_backward& q, lane& where,
                          late_failure failure) {
  return enqueue_row_change(row_operands::of(q.dy, q.indices, q.dtable), q.dy.type(),
                            row_change::sum, where, failure);
}
result<void> run_scatter(const elementwise::scatter_rows& q, lane& where, late_failure failure) {
  return enqueue_row_change(
      row_operands::of(q.x, q.indices, q.table), q.x.type(),
      q.mode == elementwise::scatter_mode::set ? row_change::set : row_change::add, where, failure);
}

const plugin_operations indexing_operations([](operation_table& table) {
  add<elementwise::gather_rows>(table, run_gather);
  add<elementwise::gather_rows_backward>(table, run_gradient);
  add<elementwise::scatter_rows>(table, run_scatter);
  add<elementwise::cumulate>(table, enqueue_cumulation);
});

}  // namespace
}  // namespace troupe::cuda
