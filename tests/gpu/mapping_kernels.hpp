#pragma once

#include <cstdint>

/// What a program does to a tensor that it was mapped. Each waits until the device is done, and
/// ends the program where CUDA fails.
namespace troupe::gpu_test {

void make_context(int ordinal);
void add(float* values, std::int64_t n, float what);
[[nodiscard]] bool all_are(const float* values, std::int64_t n, float wanted);

}  // namespace troupe::gpu_test
