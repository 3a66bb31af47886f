#include "backend/cuda/loading.hpp"

#include "backend/cuda/fault/kernels.hpp"
#include "backend/cuda/memory/kernels.hpp"

namespace troupe::cuda {

result<void> load_kernels() {
  for (auto* const load :
       {load_copy_kernels, load_fill_kernels, load_convert_kernels, load_fault_kernels}) {
    if (auto loaded = load(); !loaded) return loaded;
  }
  return {};
}

}  // namespace troupe::cuda
