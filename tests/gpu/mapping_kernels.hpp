#pragma once

#include <cstdint>

/// A program's work on a tensor that was mapped for it. Each function waits until the device is
/// done, and ends the program if CUDA fails.
namespace troupe::gpu_test {

void make_context(int ordinal);
void add(float* values, std::int64_t n, float what);
[[nodiscard]] bool all_are(const float* values, std::int64_t n, float wanted);

}  // namespace troupe::gpu_test
