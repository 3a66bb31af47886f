#pragma once

#include <troupe/elementwise/function.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe::cuda {

/// A key of any length.
using key_words = std::vector<std::int64_t>;
struct key_hash {
  [[nodiscard]] std::size_t operator()(const key_words& key) const noexcept {
    std::uint64_t mixed = key.size();
    for (const std::int64_t n : key) {
      mixed = (mixed ^ static_cast<std::uint64_t>(n)) * 0x9E3779B97F4A7C15u;
      mixed ^= mixed >> 32;
    }
    return mixed;
  }
};

/// Adds everything about a tensor that selects code: the alignment of its address, not the address.
inline void add_to_key(key_words& key, const any_tensor& t) {
  constexpr std::uintptr_t widest = 16;  // a vector's; more alignment makes no difference
  const auto alignment = reinterpret_cast<std::uintptr_t>(t.address()) % widest;
  key.push_back(static_cast<std::int64_t>(t.type()) | std::int64_t{t.rank()} << 8 |
                static_cast<std::int64_t>(alignment) << 16);
  key.insert(key.end(), t.extents().begin(), t.extents().end());
  key.insert(key.end(), t.strides().begin(), t.strides().end());
}

/// Adds a function without the values of its constants, which are parameters. Whether they are real
/// is added, because it determines types.
inline void add_to_key(key_words& key, const elementwise::function& f) {
  key.push_back(static_cast<std::int64_t>(f.size()));
  for (std::size_t i = 0; i < f.size(); ++i) {
    const elementwise::instruction one = f.at(i);
    key.push_back(static_cast<std::int64_t>(one.op) | std::int64_t{one.a} << 8 |
                  std::int64_t{one.b} << 24 | std::int64_t{one.c} << 40);
  }
  for (const scalar& one : f.constants())
    key.push_back(static_cast<std::int64_t>(one.what()));
}

}  // namespace troupe::cuda
