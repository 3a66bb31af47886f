#pragma once

#include <cstdint>

/// Calls that the emulation of cuBLAS has seen.
namespace troupe::emulated_cublas {

struct history {
  std::uint64_t products = 0;  ///< calls of the Ex routines
};
[[nodiscard]] history& seen() noexcept;

}  // namespace troupe::emulated_cublas
