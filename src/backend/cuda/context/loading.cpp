#include "backend/cuda/context/loading.hpp"

namespace troupe::cuda {

result<void> load_kernels() {
  result<void> outcome;
  kernel_loading::visit([&](auto& load) {
    if (outcome) outcome = load();
  });
  return outcome;
}

}  // namespace troupe::cuda
