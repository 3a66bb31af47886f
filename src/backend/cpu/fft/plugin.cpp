#include "backend/cpu/fft/transforms.hpp"

#include <troupe/core/export.hpp>

// The entry points that a worker looks for in every backend plugin.
extern "C" {

TROUPE_EXPORT const char* troupe_backend_name() { return "cpu-fft"; }

TROUPE_EXPORT void troupe_backend_operations(troupe::operation_table& table) {
  troupe::cpu::add_fft_complex_transforms(table);
  troupe::cpu::add_fft_real_transforms(table);
}
}
