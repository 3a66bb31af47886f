#include "backend/cuda/backend.hpp"

#include <troupe/core/export.hpp>

// The entry points that a worker looks for in every backend plugin.
extern "C" {

TROUPE_EXPORT const char* troupe_backend_name() { return "cuda"; }

TROUPE_EXPORT void troupe_backend_operations(troupe::operation_table& table) {
  using namespace troupe::cuda;
  add_fault_inject(table);
  add_fault_spin_until(table);
  add_memory_convert(table);
  add_memory_copy(table);
  add_memory_fill(table);
}
}
