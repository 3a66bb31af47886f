#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/blas/cuda/cublas.hpp"
#include "libraries/memory/cuda/kernels.hpp"
#include "libraries/tensors/cuda/executors.hpp"

namespace troupe::cuda {
namespace {

/// Loads the library's code, and makes the lane's handle.
const plugin_warm_up ahead_of_use([](lane_context& where) -> result<void> {
  TRY(load_copy_kernels());
  auto& own = static_cast<lane&>(where);
  TRY(prepare_tensors(own));
  TRY(cublas_of(own));
  return {};
});

}  // namespace
}  // namespace troupe::cuda
