#pragma once

#include "os/shared_memory.hpp"

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

namespace troupe::journal {

/// Notes on their way to the thread that writes them: any thread adds, one thread takes, in the
/// order of the reservations. Adding never waits, locks or allocates; it fails while there is no
/// space.
///
/// A note begins with a word that is 0 until the note is complete (release), and then its length.
/// The taker (acquire) stops at the first word of 0, and clears what it has taken before it gives
/// the space back (`head_`, release), so that the space is zero when it is reserved again
/// (acquire). `tail_` publishes nothing, and is relaxed.
class note_queue {
 public:
  /// `bytes` is a power of two.
  explicit note_queue(std::size_t bytes)
      : memory_(std::make_unique<std::atomic<std::uint64_t>[]>(bytes / word_bytes)),
        bytes_(bytes) {}

  /// Space for a note of that many bytes, aligned to 8; null if there is none. `commit` must follow
  /// soon: notes behind it wait.
  [[nodiscard]] std::byte* reserve(std::size_t payload) noexcept {
    const std::size_t wanted = whole(payload);
    if (wanted > bytes_ / 4) return nullptr;
    std::uint64_t at = tail_.load(std::memory_order_relaxed);
    std::size_t skipped = 0;
    do {
      const std::size_t until_end = bytes_ - place(at);
      skipped = until_end < wanted ? until_end : 0;
      if (at + skipped + wanted - head_.load(std::memory_order_acquire) > bytes_) return nullptr;
    } while (!tail_.compare_exchange_weak(at, at + skipped + wanted, std::memory_order_relaxed));
    if (skipped != 0) {
      word(at).store(is_skipped | skipped, std::memory_order_release);
      at += skipped;
    }
    return reinterpret_cast<std::byte*>(&word(at)) + word_bytes;
  }
  void commit(std::byte* reserved, std::size_t payload) noexcept {
    reinterpret_cast<std::atomic<std::uint64_t>*>(reserved - word_bytes)
        ->store(std::uint64_t{payload} << 32 | whole(payload), std::memory_order_release);
  }

  /// Calls `use` with each complete note that was reserved before: senders cannot keep it busy for
  /// ever. One thread. \returns whether there was any
  template <class Use>
  bool take(Use use) {
    std::uint64_t at = head_.load(std::memory_order_relaxed);
    const std::uint64_t before = at;
    const std::uint64_t end = tail_.load(std::memory_order_relaxed);
    while (at != end) {
      const std::uint64_t what = word(at).load(std::memory_order_acquire);
      if (what == 0) break;
      const std::size_t length = what & 0x7fffffff;
      if ((what & is_skipped) == 0) {
        use(std::span<const std::byte>(reinterpret_cast<const std::byte*>(&word(at)) + word_bytes,
                                       what >> 32));
      }
      std::memset(static_cast<void*>(&word(at)), 0, length);
      at += length;
      head_.store(at, std::memory_order_release);
    }
    return at != before;
  }
  /// Whether anything is in it. Any thread.
  [[nodiscard]] bool empty() const noexcept {
    return head_.load(std::memory_order_acquire) == tail_.load(std::memory_order_acquire);
  }

 private:
  static constexpr std::size_t word_bytes = sizeof(std::uint64_t);
  static constexpr std::uint64_t is_skipped = std::uint64_t{1} << 31;

  [[nodiscard]] static constexpr std::size_t whole(std::size_t payload) noexcept {
    return (payload + 2 * word_bytes - 1) / word_bytes * word_bytes;
  }
  [[nodiscard]] std::size_t place(std::uint64_t at) const noexcept { return at & (bytes_ - 1); }
  [[nodiscard]] std::atomic<std::uint64_t>& word(std::uint64_t at) const noexcept {
    return memory_[place(at) / word_bytes];
  }

  const std::unique_ptr<std::atomic<std::uint64_t>[]> memory_;
  const std::size_t bytes_;
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  alignas(64) std::atomic<std::uint64_t> head_{0};
};

}  // namespace troupe::journal
