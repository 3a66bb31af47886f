#include "backend/cuda/context/executor.hpp"
#include "libraries/blas/cuda/cublas.hpp"
#include "libraries/elementwise/cuda/interpreter/interpreter.hpp"
#include "libraries/memory/cuda/kernels.hpp"

namespace troupe::cuda {
namespace {

/// Loads the library's code, and makes the lane's handle.
const plugin_warm_up ahead_of_use([](lane_context& where) -> result<void> {
  if (auto loaded = load_copy_kernels(); !loaded) return loaded;
  if (auto loaded = load_interpreter(); !loaded) return loaded;
  if (auto handle = cublas_of(static_cast<lane&>(where)); !handle) return std::move(handle).error();
  return {};
});

}  // namespace
}  // namespace troupe::cuda
