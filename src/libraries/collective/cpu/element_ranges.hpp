#pragma once

#include <troupe/tensor/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace troupe::cpu {

/// Calls `visit(address)` for elements of a view, in row-major order from the `first` on.
template <class Visit>
void for_each_element(const any_tensor& t, std::int64_t first, std::int64_t count, Visit&& visit) {
  const std::int64_t element = size_of(t.type());
  for (std::int64_t i = first; i < first + count; ++i) {
    std::int64_t rest = i, offset = 0;
    for (int d = t.rank(); d-- > 0;) {
      offset += rest % t.extent(d) * t.stride(d);
      rest /= t.extent(d);
    }
    visit(t.address() + offset * element);
  }
}

/// Copies elements of a view into packed memory, and back.
inline void pack(const any_tensor& from, std::int64_t first, std::int64_t count, std::byte* to) {
  const auto element = static_cast<std::size_t>(size_of(from.type()));
  if (count == 0) return;
  if (from.packed()) {
    std::memcpy(to, from.address() + static_cast<std::size_t>(first) * element,
                static_cast<std::size_t>(count) * element);
    return;
  }
  for_each_element(from, first, count, [&](const std::byte* at) {
    std::memcpy(to, at, element);
    to += element;
  });
}
inline void unpack(const std::byte* from, const any_tensor& to, std::int64_t first,
                   std::int64_t count) {
  const auto element = static_cast<std::size_t>(size_of(to.type()));
  if (count == 0) return;
  if (to.packed()) {
    std::memcpy(to.address() + static_cast<std::size_t>(first) * element, from,
                static_cast<std::size_t>(count) * element);
    return;
  }
  for_each_element(to, first, count, [&](std::byte* at) {
    std::memcpy(at, from, element);
    from += element;
  });
}

}  // namespace troupe::cpu
