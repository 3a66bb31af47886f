#pragma once

#include "backend/cuda/context/late_failure.cuh"
#include "libraries/sparse/shared/pattern_faults.hpp"

#include <cstdint>

/// Elements that have no place in their matrix.
namespace troupe::cuda {

using place = unsigned long long;  // what atomicMin takes of 64 bits
static_assert(sizeof(place) == sizeof(std::uint64_t));
inline constexpr place nowhere = ~place{0};

/// What is asked of a matrix, and how a message begins that says what is wrong.
struct place_checks {
  sparse::pattern_checks checks;
  late_words major;
  late_words minor;

  explicit place_checks(const sparse_matrix& a) noexcept
      : checks(sparse::pattern_of(a), sparse::pattern_claim::places),
        major(sparse::major_word(a.format)),
        minor(sparse::minor_word(a.format)) {}

  /// Makes the request fail with check number `i`.
  __device__ void tell(std::int64_t i, late_failure failure) const {
    sparse::tell(checks.check(i), major, minor,
                 [&](const auto&... parts) { failure.write(errc::invalid_argument, parts...); });
  }
};

/// Notes the first check that finds a fault; with any number of threads and blocks.
static __global__ void find_misplaced(const __grid_constant__ place_checks of, place* first) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < of.checks.number(); i += step) {
    if (of.checks.check(i).what == sparse::pattern_fault::kind::none) continue;
    atomicMin(first, static_cast<place>(i));
    return;
  }
}

}  // namespace troupe::cuda
