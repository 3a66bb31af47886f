#include "backend/cpu/backend.hpp"

#include <troupe/core/export.hpp>

// The entry points that a worker looks for in every backend plugin.
extern "C" {

TROUPE_EXPORT const char* troupe_backend_name() { return "cpu"; }

TROUPE_EXPORT void troupe_backend_operations(troupe::operation_table& table) {
  troupe::cpu::add_blas_level3(table);
}
}
