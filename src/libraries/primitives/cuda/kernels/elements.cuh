#pragma once

#include <troupe/tensor/dtype.hpp>

#include <cstdint>

namespace troupe::cuda {

/// An element of 16 bytes with an alignment of 8.
struct alignas(8) wide_element {
  std::uint64_t words[2];
};

/// Calls `f` with a value of the type's width, for moving elements.
template <class F>
auto with_element(dtype type, F f) {
  switch (size_of(type)) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    case 8:
      return f(std::uint64_t{});
    default:
      return f(wide_element{});
  }
}

}  // namespace troupe::cuda
