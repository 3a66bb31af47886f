#pragma once

#include <troupe/worker/executor.hpp>

/// The executors of the CPU backend, one function per operation family.
namespace troupe::cpu {

void add_blas_level3(operation_table& table);

}  // namespace troupe::cpu
