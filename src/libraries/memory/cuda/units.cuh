#pragma once

#include "base/try.hpp"
#include "libraries/memory/cuda/kernels.hpp"

#include <cuda_runtime.h>

#include <cstdint>

namespace troupe::cuda {

/// 16 bytes with an alignment of 8.
struct two_halves {
  std::uint64_t low;
  std::uint64_t high;
};

/// Calls `f` with a value of the C++ type in which a unit is moved.
template <class F>
result<void> with_unit(unit moved, F f) {
  switch (moved.bytes) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    case 8:
      return f(std::uint64_t{});
    default:
      return moved.alignment == 16 ? f(uint4{}) : f(two_halves{});
  }
}

/// Calls `f` for every type of unit, until it fails.
template <class F>
result<void> for_each_unit(F f) {
  for (const unit one :
       {unit{1, 1}, unit{2, 2}, unit{4, 4}, unit{8, 8}, unit{16, 8}, unit{16, 16}}) {
    TRY(with_unit(one, f));
  }
  return {};
}

}  // namespace troupe::cuda
