#pragma once

#include "base/spin_wait.hpp"
#include "wire/world_bells.hpp"

#include <troupe/request/world_part.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace troupe::cpu {

/// The words of a world as one of its ranks sees them in shared memory; see
/// `collective::protocol`. A rank that waits spins for a while, then sleeps until a peer or the
/// program rings.
class shared_words {
 public:
  explicit shared_words(const world_part& part) noexcept : part_(part) {}
  shared_words(const shared_words&) = delete;
  shared_words& operator=(const shared_words&) = delete;
  ~shared_words() { bell().asleep.store(0, std::memory_order_relaxed); }

  [[nodiscard]] int ranks() const noexcept { return part_.ranks(); }
  [[nodiscard]] std::size_t rank() const noexcept { return static_cast<std::size_t>(part_.rank); }
  [[nodiscard]] std::uint64_t own() const noexcept { return load(of(rank()).own); }
  void set_own(std::uint64_t step) noexcept { store(of(rank()).own, step); }
  [[nodiscard]] std::uint64_t staged() const noexcept { return load(of(rank()).staged); }
  void set_staged(std::uint64_t step) noexcept { store(of(rank()).staged, step); }
  void put_start(int peer, std::uint64_t step) noexcept {
    put(peer, of(std::size_t(peer)).start[rank()], step);
  }
  [[nodiscard]] bool all_started(std::uint64_t step) const noexcept {
    return are_at(of(rank()).start, step);
  }
  void put_done(int peer, std::uint64_t step) noexcept {
    put(peer, of(std::size_t(peer)).done[rank()], step);
  }
  [[nodiscard]] bool all_done(std::uint64_t step) const noexcept {
    return are_at(of(rank()).done, step);
  }
  [[nodiscard]] std::uint64_t dropped() const noexcept { return load(page().dropped[0].operation); }

  [[nodiscard]] bool is_broken(std::uint64_t connection) const noexcept {
    return wire::is_broken(page(), connection);
  }

  void pause() noexcept {
    if (!prepared_) {
      if (spin_.step()) return;
      seen_ = bell().rung.load(std::memory_order_acquire);
      bell().asleep.store(1, std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_seq_cst);
      prepared_ = true;  // the caller looks once more
      return;
    }
    // A peer that is killed between its store and the ring makes this late.
    constexpr auto longest = std::chrono::milliseconds(10);
    os::futex_wait(bell().rung, seen_, std::chrono::steady_clock::now() + longest,
                   os::sharing::processes);
    bell().asleep.store(0, std::memory_order_relaxed);
    prepared_ = false;
    spin_ = detail::spin_wait(longest_spin, 1);
  }

  /// The slots for staged input.
  [[nodiscard]] std::int64_t slot_bytes() const noexcept {
    return (part_.words.front().count() - std::int64_t{wire::staging_offset}) / 4;
  }
  [[nodiscard]] std::byte* slot(std::size_t rank, std::uint64_t number) const noexcept {
    return part_.words[rank].address() + wire::staging_offset +
           number * static_cast<std::uint64_t>(slot_bytes());
  }

 private:
  static constexpr auto longest_spin = std::chrono::microseconds(50);

  [[nodiscard]] static std::uint64_t load(const std::atomic<std::uint64_t>& word) noexcept {
    return word.load(std::memory_order_acquire);
  }
  static void store(std::atomic<std::uint64_t>& word, std::uint64_t step) noexcept {
    word.store(step, std::memory_order_release);
  }
  [[nodiscard]] bool are_at(const std::atomic<std::uint64_t>* by_peer,
                            std::uint64_t step) const noexcept {
    return std::all_of(by_peer, by_peer + ranks(),
                       [&](const auto& word) { return load(word) >= step; });
  }
  void put(int peer, std::atomic<std::uint64_t>& word, std::uint64_t step) noexcept {
    store(word, step);
    if (static_cast<std::size_t>(peer) != rank()) wire::ring(page().bells[peer]);
  }
  [[nodiscard]] wire::rank_words& of(std::size_t rank) const noexcept {
    return *reinterpret_cast<wire::rank_words*>(part_.words[rank].address());
  }
  [[nodiscard]] wire::world_page& page() const noexcept {
    return *reinterpret_cast<wire::world_page*>(part_.page.address());
  }
  [[nodiscard]] wire::world_page::bell& bell() const noexcept { return page().bells[rank()]; }

  const world_part& part_;
  detail::spin_wait spin_{longest_spin, 1};
  bool prepared_ = false;
  std::uint32_t seen_ = 0;
};

}  // namespace troupe::cpu
