#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/blaslt/cuda/matmul_plan.hpp"

namespace troupe::cuda {
namespace {

result<void> run_matmul(const blaslt::matmul& r, lane& where) {
  const sides s(r);
  if (s.product.empty()) return {};
  const planned found = TRY(plan_for(where, s));
  const lt_kernel& kernel = found.plan->chosen();
  std::byte* workspace = nullptr;
  if (kernel.workspace_bytes > 0) workspace = TRY(where.workspace(kernel.workspace_bytes)).data();
  return run(*found.plan, found.library, s, kernel, r.d.address(), workspace, where.stream());
}

const plugin_operations matmul_operations([](operation_table& table) {
  add<blaslt::matmul>(table, run_matmul);
});

}  // namespace
}  // namespace troupe::cuda
