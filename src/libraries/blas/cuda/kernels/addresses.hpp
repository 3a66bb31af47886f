#pragma once

#include "backend/cuda/context/lane.hpp"

#include <troupe/base/result.hpp>

#include <cstdint>
#include <initializer_list>
#include <span>

namespace troupe::cuda {

/// Addresses at constant distances: first, first + step, first + 2 · step, …
struct address_series {
  const void* first = nullptr;
  std::int64_t step_bytes = 0;
};

/// Enqueues writing the lists that batched routines read, one after the other, `count` addresses
/// each, to device memory at `to`. At most three series.
[[nodiscard]] result<void> write_series(const lane& where, void** to,
                                        std::initializer_list<address_series> series,
                                        std::int64_t count);

/// Enqueues writing these addresses to device memory at `to`. They travel as arguments of kernels:
/// a copy from pageable host memory may wait for the device.
[[nodiscard]] result<void> write_addresses(const lane& where, void** to,
                                           std::span<const void* const> addresses);

}  // namespace troupe::cuda
