#pragma once

#include "wire/layout.hpp"
#include "worker/intake/job.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace troupe::worker {

/// The worker's end of the mailbox: reads entries in order and turns slots into jobs. Only the
/// thread with the reader's role uses it, except that any thread may ask for the program's flags of
/// a request or of all (`revoked`, `alone`, `released`, `activated`). The mailbox is mapped
/// read-only, and each slot is copied before it is checked, so the checked bytes are the ones that
/// run.
///
/// Reads one cache line of the ring at a time: the program can then write the next entries
/// undisturbed, and the slots of later entries are prefetched while the first one runs.
class inbox {
 public:
  /// `bytes` is the size of the mapping at `mailbox`.
  /// \errors `protocol_violation` for a header that does not fit the mapping.
  [[nodiscard]] static result<inbox> open(const wire::mailbox_header* mailbox, std::size_t bytes);

  [[nodiscard]] bool activated(std::uint64_t worker) const noexcept {
    return mailbox_->active.worker.load(std::memory_order_acquire) == worker;
  }
  /// The lanes that have run graphs, see `wire::mailbox_header`.
  [[nodiscard]] std::uint32_t graph_lanes() const noexcept {
    return mailbox_->graph_lanes.load(std::memory_order_acquire);
  }
  /// Reads the replay list and the first ticket. Precondition: activated.
  void begin() noexcept;

  /// The next entry, or 0 if there is none yet.
  [[nodiscard]] std::uint64_t poll() noexcept {
    return taken_ < found_ || look() ? ahead_[taken_++] : 0;
  }
  /// True if `poll` would find one.
  [[nodiscard]] bool has_more() const noexcept;

  /// Decodes the slot of an entry. A failure becomes `to.refused`; slot and lane of the job are in
  /// bounds whatever the entry contains. Adds the ranges of new peers to `ranges`.
  void read(std::uint64_t entry, const operation_table& operations, wire::address_ranges& ranges,
            job& to);
  /// True if the program does not want the request in that slot to run any more.
  [[nodiscard]] bool revoked(std::uint16_t slot) const noexcept {
    return header_of(slot).revoked.load(std::memory_order_relaxed) != 0;
  }

  /// True if the request in that slot must run alone. For a held request that is decided before its
  /// release.
  [[nodiscard]] bool alone(std::uint16_t slot) const noexcept {
    return header_of(slot).alone.load(std::memory_order_relaxed) != 0;
  }
  /// See `engine::set_memory_version`.
  [[nodiscard]] std::uint64_t memory_version(std::uint16_t slot) const noexcept {
    return header_of(slot).memory_version;
  }
  /// True while the request waits for `mailbox::open`. Acquire: the program's stores before it
  /// opened the request are visible once this is false.
  [[nodiscard]] bool closed(std::uint16_t slot) const noexcept {
    return header_of(slot).held.load(std::memory_order_acquire) == wire::hold::until_opened;
  }
  /// True once held requests may continue. Acquire: it is then visible which of them are revoked.
  [[nodiscard]] bool released() const noexcept {
    return mailbox_->active.released.load(std::memory_order_acquire) != 0;
  }

  [[nodiscard]] std::uint32_t capacity() const noexcept { return geometry_.capacity; }

 private:
  static constexpr std::size_t entries_per_line = wire::cache_line / sizeof(std::uint64_t);

  inbox(const wire::mailbox_header* mailbox, const wire::mailbox_geometry& g) noexcept;

  [[nodiscard]] bool look() noexcept;
  [[nodiscard]] bool learn_peers(wire::address_ranges& ranges) noexcept;
  void take_up(std::uint64_t entry) noexcept;

  [[nodiscard]] const std::byte* at(std::uint64_t offset) const noexcept {
    return reinterpret_cast<const std::byte*>(mailbox_) + offset;
  }
  [[nodiscard]] const wire::slot_header& header_of(std::uint16_t slot) const noexcept {
    return *reinterpret_cast<const wire::slot_header*>(at(geometry_.slots_offset) +
                                                       slot * wire::slot_bytes);
  }

  const wire::mailbox_header* mailbox_;
  wire::mailbox_geometry geometry_;  // a private copy that was checked
  const std::atomic<std::uint64_t>* ring_;
  const std::uint64_t* replay_;
  std::uint32_t replay_next_ = 0;
  std::uint32_t replay_count_ = 0;
  std::uint64_t next_ticket_ = 0;
  std::array<std::uint64_t, entries_per_line> ahead_{};  // read but not polled yet, from `taken_`
  std::size_t taken_ = 0;
  std::size_t found_ = 0;
  std::uint32_t peers_ = 0;  // added to the address ranges so far
  std::vector<std::byte> payload_;
  decoded_requests decoded_;
};

}  // namespace troupe::worker
