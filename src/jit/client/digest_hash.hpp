#pragma once

#include <troupe/jit/digest.hpp>

#include <cstddef>
#include <cstring>

namespace troupe::jit {

/// The hash of a digest, whose bits are as good as random.
struct digest_hash {
  [[nodiscard]] std::size_t operator()(const digest& d) const noexcept {
    std::size_t first = 0;
    std::memcpy(&first, d.bytes.data(), sizeof(first));
    return first;
  }
};

}  // namespace troupe::jit
