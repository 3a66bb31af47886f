#include "libraries/primitives/cuda/scans.hpp"

#include "backend/cuda/context/executor.hpp"
#include "libraries/primitives/shared/tensor_rows.hpp"

namespace troupe::cuda {
namespace {

result<void> run_scan(const primitives::scan& r, lane& where) {
  if (r.x.empty()) return {};
  const primitives::tensor_rows x(r.x, r.axis);
  if (x.count() > 1) return enqueue_row_scan(r, where);
  primitives::scan one = r;
  one.x = x.view(0);
  one.y = primitives::tensor_rows(r.y, r.axis).view(0);
  const bool any_order = !r.deterministic || !is_float(r.x.type());
  return any_order && is_plain_sum(one) ? enqueue_plain_sum(one, where)
                                        : enqueue_fixed_scan(one, where);
}

const plugin_operations scans_operations([](operation_table& table) {
  add<primitives::scan>(table, run_scan);
});

}  // namespace

}  // namespace troupe::cuda
