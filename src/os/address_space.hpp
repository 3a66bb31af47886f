#pragma once

#include <cstdint>
#include <vector>

namespace troupe::os {

/// Addresses from `begin` up to, but without, `end`.
struct address_stretch {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

/// The stretches between `first` and `last` where this process has nothing mapped, in order.
/// Mappings that the system does not report count as free.
[[nodiscard]] std::vector<address_stretch> free_stretches(std::uintptr_t first,
                                                          std::uintptr_t last);

}  // namespace troupe::os
