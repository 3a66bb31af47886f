#pragma once

#include "backend/cuda/context/failure.hpp"
#include "backend/cuda/context/lane.hpp"
#include "backend/cuda/context/pieces.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

/// CUB's algorithms are called twice: without memory they say how much they need.
namespace troupe::cuda {

/// How much temporary memory `call(memory, bytes)` needs.
template <class Call>
[[nodiscard]] result<std::size_t> temporary_bytes(std::string_view name, Call call) {
  std::size_t bytes = 0;
  if (auto done = check(call(nullptr, bytes), name); !done) return std::move(done).error();
  return bytes;
}

/// Parts of a lane's workspace, in the order in which they were added.
class workspace_parts {
 public:
  /// Room for `count` elements of `T`; answers where it will be.
  template <class T>
  std::size_t add(std::int64_t count) noexcept {
    return sizes_.add(count * static_cast<std::int64_t>(sizeof(T)));
  }
  [[nodiscard]] result<void> take(lane& where) {
    auto room = where.workspace(sizes_.bytes());
    if (!room) return std::move(room).error();
    room_ = *room;
    return {};
  }
  template <class T>
  [[nodiscard]] T* at(std::size_t offset) const noexcept {
    return static_cast<T*>(static_cast<void*>(room_.data() + offset));
  }

 private:
  pieces sizes_;
  std::span<std::byte> room_;
};

}  // namespace troupe::cuda
