#include "backend/cuda/fft/transforms.hpp"

#include <troupe/core/export.hpp>

// The entry points that a worker looks for in every backend plugin.
extern "C" {

TROUPE_EXPORT const char* troupe_backend_name() { return "cuda-fft"; }

TROUPE_EXPORT void troupe_backend_operations(troupe::operation_table& table) {
  troupe::cuda::add_fft_complex_transforms(table);
  troupe::cuda::add_fft_real_transforms(table);
}

// Before the worker says that it is ready, once for each lane that is to be fast at once.
TROUPE_EXPORT void troupe_backend_warm_up(troupe::lane_context& lane,
                                          troupe::result<void>& outcome) {
  outcome = troupe::cuda::warm_up_fft(static_cast<troupe::cuda::lane&>(lane));
}
}
