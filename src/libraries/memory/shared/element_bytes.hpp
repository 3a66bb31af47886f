#pragma once

#include "libraries/memory/shared/conversion.hpp"

#include <troupe/tensor/scalar.hpp>

#include <array>
#include <cstddef>
#include <cstring>

namespace troupe::elementwise {

/// One element of any type, as it lies in memory.
using element_bytes = std::array<std::byte, 16>;

/// `value` as an element of `type`; bytes past the element's size are zero.
inline element_bytes element_of(dtype type, const scalar& value) {
  element_bytes bytes{};
  for_element_type(type, [&]<class To>(To) {
    To element{};
    switch (value.what()) {
      case scalar::kind::integer:
        element = narrowed<To>(value.as<std::int64_t>());
        break;
      case scalar::kind::unsigned_integer:
        element = narrowed<To>(value.as<std::uint64_t>());
        break;
      case scalar::kind::real:
        element = narrowed<To>(value.as<double>());
        break;
      case scalar::kind::complex:
        element = narrowed<To>(value.as<std::complex<double>>());
        break;
    }
    std::memcpy(bytes.data(), &element, sizeof element);
  });
  return bytes;
}

}  // namespace troupe::elementwise
