#pragma once

#include "puppet_worker.hpp"
#include "wire/control.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe::chaos {

/// The ends of the boundary that a worker has, as plain memory and descriptors.
class puppet {
 public:
  /// A request as the ring and its slot say.
  struct request {
    std::uint64_t ticket = 0;
    std::uint64_t place = 0;
    std::uint16_t slot = 0;
    std::uint8_t lane = 0;
    trick what = trick::none;
    std::int64_t number = 0;
  };

  /// The handshake, as it should be. Does not return where there is no program.
  puppet();

  /// Waits for a request; ends the process with the program, or when that lets it go.
  [[nodiscard]] request next();
  /// Answers it as it should be.
  void answer(const request& r, scalar value);
  void write_reply(const request& r, scalar value);
  void mark(const request& r, std::uint64_t place);
  void wake();

  void say(std::span<const std::byte> bytes, std::span<const int> descriptors = {}) const;
  template <class Message>
  void say(const Message& message) const {
    say(std::as_bytes(std::span(&message, 1)));
  }

  [[nodiscard]] wire::lane_mark& lane(const request& r) { return segment_->lanes[r.lane]; }
  [[nodiscard]] wire::crash_report& crash() { return segment_->crash; }
  [[nodiscard]] wire::reply_slot& reply(const request& r);
  /// All that it can write, but tensors.
  [[nodiscard]] std::span<std::byte> segment() const;
  [[nodiscard]] std::span<std::byte> bells() const;
  [[nodiscard]] std::span<const std::byte> mailbox() const;
  /// Mailbox, doorbells, segment, event, and all memory.
  [[nodiscard]] std::span<const int> descriptors() const { return descriptors_; }
  [[nodiscard]] int event() const { return descriptors_[3]; }

  bool reads = true;
  bool acknowledges = true;
  bool refuses_frozen = false;  ///< to make memory read-only
  bool refuses_thawed = false;  ///< to make it writable

 private:
  void hear(bool wait);
  [[nodiscard]] request read(std::uint64_t entry);
  [[nodiscard]] const std::byte* base() const {
    return reinterpret_cast<const std::byte*>(mailbox_);
  }
  void take_configuration(const wire::configure_message& message);

  std::vector<int> descriptors_;
  std::size_t mailbox_bytes_ = 0;
  std::uint64_t number_ = 0;
  const wire::mailbox_header* mailbox_ = nullptr;
  wire::doorbells* bells_ = nullptr;
  wire::worker_header* segment_ = nullptr;
  bool begun_ = false;
  bool activated_ = false;
  std::vector<std::uint64_t> waiting_;  // sent before it was activated
  std::uint64_t next_ticket_ = 0;
  std::uint64_t places_[wire::max_lanes] = {};
};

}  // namespace troupe::chaos
