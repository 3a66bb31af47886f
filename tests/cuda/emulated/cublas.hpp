#pragma once

#include <cstdint>

/// Calls that the emulation of cuBLAS has seen.
namespace troupe::emulated_cublas {

struct history {
  std::uint64_t products = 0;  ///< products of the Ex routines
  std::uint64_t lists = 0;     ///< calls with a list of products
};
[[nodiscard]] history& seen() noexcept;

}  // namespace troupe::emulated_cublas
