#pragma once

#include <troupe/base/export.hpp>

#include <cstddef>
#include <new>
#include <utility>

namespace troupe::detail {

/// Recycled memory blocks for what every request needs: future states, messages, continuations.
///
/// Each thread owns two magazines of free blocks per size class. It touches nothing shared until
/// both are empty or both are full; then it exchanges one whole magazine with a global depot, under
/// the depot's lock. So if blocks are always freed by another thread than the one that takes them,
/// the cost is one lock per `magazine_blocks` blocks. The depot is bounded; blocks beyond the bound
/// are returned to the operating system.
struct block_pool {
  static constexpr std::size_t smallest_bytes = 64;
  static constexpr std::size_t class_count = 4;  // 64, 128, 256, 512
  static constexpr std::size_t largest_bytes = smallest_bytes << (class_count - 1);
  static constexpr std::size_t magazine_blocks = 64;

  /// The smallest class that holds `bytes`, or `class_count` if none does.
  static constexpr std::size_t class_of(std::size_t bytes) noexcept {
    std::size_t index = 0;
    while (index < class_count && (smallest_bytes << index) < bytes)
      ++index;
    return index;
  }

  /// A block aligned to 64 bytes; throws `std::bad_alloc`.
  [[nodiscard]] TROUPE_EXPORT static void* take(std::size_t size_class);
  TROUPE_EXPORT static void give(void* block, std::size_t size_class) noexcept;
};

template <class T>
inline constexpr bool is_pooled =
    sizeof(T) <= block_pool::largest_bytes && alignof(T) <= block_pool::smallest_bytes;

/// Like `new T(…)`, but in a recycled block if one is large enough.
template <class T, class... Args>
[[nodiscard]] T* make_pooled(Args&&... args) {
  if constexpr (is_pooled<T>) {
    constexpr std::size_t size_class = block_pool::class_of(sizeof(T));
    void* block = block_pool::take(size_class);
    try {
      return ::new (block) T(std::forward<Args>(args)...);
    } catch (...) {
      block_pool::give(block, size_class);
      throw;
    }
  } else {
    return new T(std::forward<Args>(args)...);
  }
}

/// Destroys what `make_pooled<T>` made.
template <class T>
void drop_pooled(T* object) noexcept {
  if constexpr (is_pooled<T>) {
    object->~T();
    block_pool::give(object, block_pool::class_of(sizeof(T)));
  } else {
    delete object;
  }
}

}  // namespace troupe::detail
