#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/dnn/cuda/plan/library.hpp"
#include "libraries/dnn/cuda/plan/plan_service.hpp"

namespace troupe::cuda {
namespace {

// Makes the handle of the lane. Plans load the rest on their own threads.
const plugin_warm_up ahead_of_use([](lane_context& context) -> result<void> {
  auto& where = static_cast<lane&>(context);
  TRY(cudnn_of(where));
  const auto service = TRY(plan_service::of_current_context());
  service->load_ahead(where.blobs());
  return {};
});

}  // namespace
}  // namespace troupe::cuda
