#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/dnn/cuda/plan/library.hpp"
#include "libraries/dnn/cuda/plan/plan_service.hpp"

namespace troupe::cuda {
namespace {

// The handle of the lane. What plans need is loaded with them, on threads of their own.
const plugin_warm_up ahead_of_use([](lane_context& context) -> result<void> {
  auto& where = static_cast<lane&>(context);
  TRY(cudnn_of(where));
  const auto service = TRY(plan_service::of_current_context());
  service->load_ahead(where.blobs());
  return {};
});

}  // namespace
}  // namespace troupe::cuda
