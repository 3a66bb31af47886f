#include "backend/cuda/context/executor.hpp"
#include "libraries/blas/cuda/cublas.hpp"
#include "libraries/memory/cuda/kernels.hpp"
#include "libraries/tensors/cuda/executors.hpp"

namespace troupe::cuda {
namespace {

/// Loads the library's code, and makes the lane's handle.
const plugin_warm_up ahead_of_use([](lane_context& where) -> result<void> {
  if (auto loaded = load_copy_kernels(); !loaded) return loaded;
  auto& own = static_cast<lane&>(where);
  if (auto prepared = prepare_tensors(own); !prepared) return prepared;
  if (auto handle = cublas_of(own); !handle) return std::move(handle).error();
  return {};
});

}  // namespace
}  // namespace troupe::cuda
