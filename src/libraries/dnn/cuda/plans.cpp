#include "base/try.hpp"
#include "libraries/dnn/cuda/plan/plan_service.hpp"

#include <troupe/dnn/plans.hpp>
#include <troupe/plugin/static_registration.hpp>

namespace troupe::cuda {
namespace {

result<dnn::plan_counts> count_plans(const dnn::plans&, lane_context&) {
  const auto service = TRY(plan_service::of_current_context());
  const plan_counts now = service->counts();
  return dnn::plan_counts{.built = now.built,
                          .restored = now.restored,
                          .ahead = now.ahead,
                          .damaged = now.damaged,
                          .failed = now.failed,
                          .kept = now.kept,
                          .pending = now.pending};
}

const plugin_operations plans_operations([](operation_table& table) {
  table.add<dnn::plans>(count_plans, effort::by_size);
});

}  // namespace
}  // namespace troupe::cuda
