#include "libraries/primitives/cuda/scans.hpp"

#include "backend/cuda/context/executor.hpp"

namespace troupe::cuda {
namespace {

result<void> run_scan(const primitives::scan& r, lane& where) {
  if (r.x.empty()) return {};
  const bool any_order = !r.deterministic || !is_float(r.x.type());
  return any_order && is_plain_sum(r) ? enqueue_plain_sum(r, where) : enqueue_fixed_scan(r, where);
}

const plugin_operations scans_operations([](operation_table& table) {
  add<primitives::scan>(table, run_scan);
});

}  // namespace

}  // namespace troupe::cuda
