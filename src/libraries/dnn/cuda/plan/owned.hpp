#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <type_traits>

namespace troupe::cuda {

/// Destroys objects of CUDA.
struct end_native {
  void operator()(cudaStream_t one) const noexcept { (void)cudaStreamDestroy(one); }
  void operator()(cudaEvent_t one) const noexcept { (void)cudaEventDestroy(one); }
  void operator()(cudaGraph_t one) const noexcept { (void)cudaGraphDestroy(one); }
  void operator()(cudaGraphExec_t one) const noexcept { (void)cudaGraphExecDestroy(one); }
};
template <class Native>
using owned = std::unique_ptr<std::remove_pointer_t<Native>, end_native>;

}  // namespace troupe::cuda
