#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace troupe {

/// A queue of fixed size: any thread puts, one thread takes, and neither waits. Source: Dmitry
/// Vyukov, "Bounded MPMC queue".
///
/// The number of a place says whose turn it is: the place is free for the put of that number, or,
/// one more, holds its value. It is stored with release and read with acquire, and orders the
/// value.
template <class T>
class bounded_queue {
 public:
  /// `capacity`: a power of two.
  explicit bounded_queue(std::size_t capacity)
      : places_(std::make_unique<place[]>(capacity)), mask_(capacity - 1) {
    for (std::size_t i = 0; i < capacity; ++i)
      places_[i].number.store(i, std::memory_order_relaxed);
  }

  /// False if it is full.
  bool put(T&& value) noexcept {
    std::uint64_t at = end_.load(std::memory_order_relaxed);
    for (;;) {
      place& to = places_[at & mask_];
      const std::uint64_t number = to.number.load(std::memory_order_acquire);
      if (number == at) {
        if (!end_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) continue;
        to.value = std::move(value);
        to.number.store(at + 1, std::memory_order_release);
        return true;
      }
      if (number < at) return false;
      at = end_.load(std::memory_order_relaxed);
    }
  }
  /// False if it is empty.
  bool take(T& value) noexcept {
    place& from = places_[begin_ & mask_];
    if (from.number.load(std::memory_order_acquire) != begin_ + 1) return false;
    value = std::move(from.value);
    from.number.store(begin_ + mask_ + 1, std::memory_order_release);
    ++begin_;
    return true;
  }

 private:
  struct place {
    std::atomic<std::uint64_t> number{0};
    T value{};
  };

  const std::unique_ptr<place[]> places_;
  const std::uint64_t mask_;
  alignas(64) std::atomic<std::uint64_t> end_{0};
  alignas(64) std::uint64_t begin_ = 0;  // the taker's
};

}  // namespace troupe
