#pragma once

#include "wire/layout.hpp"
#include "worker/intake/job.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace troupe::worker {

/// The worker's end of the mailbox: reads entries in order and turns slots into jobs. Touched only
/// by the thread that has the reader's role; any thread may ask what the program says meanwhile of
/// a request or of all (`revoked`, `alone`, `released`, `activated`). The mailbox is mapped
/// read-only, and each slot is copied before it is looked at, so what was checked is what is run.
///
/// Entries are taken up a cache line of the ring at a time: the program can then write the next
/// ones undisturbed, and the slots of the later ones are on their way while the first one runs.
class inbox {
 public:
  /// `bytes` is the size of the mapping at `mailbox`.
  /// \errors `protocol_violation` for a header that does not fit the mapping.
  [[nodiscard]] static result<inbox> open(const wire::mailbox_header* mailbox, std::size_t bytes);

  [[nodiscard]] bool activated(std::uint64_t worker) const noexcept {
    return mailbox_->active.worker.load(std::memory_order_acquire) == worker;
  }
  /// Takes up the replay list and the first ticket. Precondition: activated.
  void begin() noexcept;

  /// The next entry, or 0 when there is none yet.
  [[nodiscard]] std::uint64_t poll() noexcept {
    return taken_ < found_ || look() ? ahead_[taken_++] : 0;
  }
  /// True when `poll` would find one.
  [[nodiscard]] bool has_more() const noexcept;

  /// Decodes the slot of an entry. A failure becomes `to.refused`; slot and lane of the job are
  /// within their bounds whatever the entry says.
  void read(std::uint64_t entry, const operation_table& operations,
            const wire::address_ranges& ranges, job& to);
  /// True when the program no longer wants the request in that slot to run.
  [[nodiscard]] bool revoked(std::uint16_t slot) const noexcept {
    return header_of(slot).revoked.load(std::memory_order_relaxed) != 0;
  }

  /// True when the request in that slot is to run with nothing beside it. For a held one that is
  /// decided before its release.
  [[nodiscard]] bool alone(std::uint16_t slot) const noexcept {
    return header_of(slot).alone.load(std::memory_order_relaxed) != 0;
  }
  /// True while the request waits for `mailbox::open`. Acquire: what the program did before it
  /// opened the request is visible then.
  [[nodiscard]] bool closed(std::uint16_t slot) const noexcept {
    return header_of(slot).held.load(std::memory_order_acquire) == wire::hold::until_opened;
  }
  /// True once held requests may go on. Acquire: which of them are revoked is visible then.
  [[nodiscard]] bool released() const noexcept {
    return mailbox_->active.released.load(std::memory_order_acquire) != 0;
  }

  [[nodiscard]] std::uint32_t capacity() const noexcept { return geometry_.capacity; }

 private:
  static constexpr std::size_t entries_per_line = wire::cache_line / sizeof(std::uint64_t);

  inbox(const wire::mailbox_header* mailbox, const wire::mailbox_geometry& g) noexcept;

  [[nodiscard]] bool look() noexcept;
  void take_up(std::uint64_t entry) noexcept;

  [[nodiscard]] const std::byte* at(std::uint64_t offset) const noexcept {
    return reinterpret_cast<const std::byte*>(mailbox_) + offset;
  }
  [[nodiscard]] const wire::slot_header& header_of(std::uint16_t slot) const noexcept {
    return *reinterpret_cast<const wire::slot_header*>(at(geometry_.slots_offset) +
                                                       slot * wire::slot_bytes);
  }

  const wire::mailbox_header* mailbox_;
  wire::mailbox_geometry geometry_;  // a private copy, checked
  const std::atomic<std::uint64_t>* ring_;
  const std::uint64_t* replay_;
  std::uint32_t replay_next_ = 0;
  std::uint32_t replay_count_ = 0;
  std::uint64_t next_ticket_ = 0;
  std::array<std::uint64_t, entries_per_line> ahead_{};  // found and not polled yet, from `taken_`
  std::size_t taken_ = 0;
  std::size_t found_ = 0;
  std::vector<std::byte> payload_;
  decoded_requests decoded_;
};

}  // namespace troupe::worker
