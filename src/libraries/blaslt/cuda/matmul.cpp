#include "backend/cuda/context/executor.hpp"
#include "libraries/blaslt/cuda/matmul_plan.hpp"

namespace troupe::cuda {
namespace {

result<void> run_matmul(const blaslt::matmul& r, lane& where) {
  const sides s(r);
  if (s.product.empty()) return {};
  auto found = plan_for(where, s);
  if (!found) return std::move(found).error();
  const lt_kernel& kernel = found->plan->chosen();
  std::byte* workspace = nullptr;
  if (kernel.workspace_bytes > 0) {
    auto memory = where.workspace(kernel.workspace_bytes);
    if (!memory) return std::move(memory).error();
    workspace = memory->data();
  }
  return found->plan->run(found->library, s, kernel, r.d.address(), workspace, where.stream());
}

const plugin_operations operations([](operation_table& table) {
  add<blaslt::matmul>(table, run_matmul);
});

}  // namespace
}  // namespace troupe::cuda
