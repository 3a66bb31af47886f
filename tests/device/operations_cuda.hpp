#pragma once

#include <troupe/plugin/executor.hpp>

namespace troupe::test {

/// The tests' operations as kernels: device memory is out of reach for executors of the CPU. Called
/// in a worker whose context is current; loads the kernels, because loading one waits for those
/// that run.
void add_cuda_operations(operation_table& table);

}  // namespace troupe::test
