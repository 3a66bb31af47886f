#pragma once

#include <troupe/request/world_part.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace troupe::cpu {

/// Copies `count` elements between packed tensors of one type.
inline void copy_some(const any_tensor& from, std::int64_t from_first, const any_tensor& to,
                      std::int64_t to_first, std::int64_t count) {
  const std::int64_t element = size_of(to.type());
  if (count == 0) return;
  std::memcpy(to.address() + to_first * element, from.address() + from_first * element,
              static_cast<std::size_t>(count * element));
}

/// Calls `visit` with the index of each item's first tensor, and this rank's.
template <class Visit>
void for_each_item(const std::vector<any_tensor>& of, const world_part& part, Visit&& visit) {
  const auto ranks = static_cast<std::size_t>(part.ranks());
  for (std::size_t first = 0; first < of.size(); first += ranks)
    visit(first, first + static_cast<std::size_t>(part.rank));
}

}  // namespace troupe::cpu
