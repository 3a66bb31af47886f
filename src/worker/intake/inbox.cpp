#include "worker/intake/inbox.hpp"

#include "base/fetch_ahead.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace troupe::worker {
namespace {

// How much of a slot to prefetch: its header and most requests of up to three tensors.
constexpr std::size_t bytes_ahead = 4 * wire::cache_line;

}  // namespace

result<inbox> inbox::open(const wire::mailbox_header* mailbox, std::size_t bytes) {
  const auto violation = [](std::string what) {
    return error{.code = errc::protocol_violation, .message = std::move(what)};
  };
  if (bytes < sizeof(wire::mailbox_header) || mailbox->magic_number != wire::magic) {
    return violation("the mailbox does not start with its magic number");
  }
  if (mailbox->version != wire::protocol_version) {
    return error{.code = errc::version_mismatch,
                 .message = fmt::format("mailbox of protocol {}, this worker speaks {}",
                                        mailbox->version, wire::protocol_version)};
  }
  const auto fits = [&](std::uint64_t offset, std::uint64_t size) {
    return offset <= bytes && size <= bytes - offset;
  };
  // Copied once, so that a later change by the other side cannot alter the checked values.
  const wire::mailbox_geometry g = mailbox->geometry;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the compiler must not read it again
  const std::uint64_t ring = g.ring_size;
  const std::uint64_t capacity = g.capacity;
  const std::uint64_t offsets = g.ring_offset | g.replay_offset | g.slots_offset | g.heap_offset;
  if (capacity == 0 || capacity > 0xffff || !std::has_single_bit(ring) || ring < 2 * capacity ||
      offsets % wire::cache_line != 0 || !fits(g.ring_offset, ring * 8) ||
      !fits(g.replay_offset, capacity * 8) || !fits(g.slots_offset, capacity * wire::slot_bytes) ||
      !fits(g.heap_offset, g.heap_bytes)) {
    return violation(
        fmt::format("mailbox of {} slots and a ring of {} in {} bytes", capacity, ring, bytes));
  }
  return inbox(mailbox, g);
}

inbox::inbox(const wire::mailbox_header* mailbox, const wire::mailbox_geometry& g) noexcept
    : mailbox_(mailbox),
      geometry_(g),
      ring_(reinterpret_cast<const std::atomic<std::uint64_t>*>(at(g.ring_offset))),
      replay_(reinterpret_cast<const std::uint64_t*>(at(g.replay_offset))) {}

void inbox::begin() noexcept {
  taken_ = found_ = 0;
  replay_next_ = 0;
  replay_count_ = std::min(mailbox_->active.replay_count, geometry_.capacity);
  next_ticket_ = mailbox_->active.first_ticket;
}

// Fills `ahead_` with the entries that are there, at most to the end of a cache line.
bool inbox::look() noexcept {
  taken_ = found_ = 0;
  while (replay_next_ < replay_count_ && found_ < ahead_.size())
    take_up(replay_[replay_next_++]);
  if (found_ > 0) return true;
  do {
    const std::uint64_t entry =
        ring_[next_ticket_ & (geometry_.ring_size - 1)].load(std::memory_order_acquire);
    if (!wire::ring_entry::is_for(entry, next_ticket_)) break;
    take_up(entry);
  } while (++next_ticket_ % entries_per_line != 0);
  return found_ > 0;
}

void inbox::take_up(std::uint64_t entry) noexcept {
  ahead_[found_++] = entry;
  const auto* const slot = reinterpret_cast<const std::byte*>(&header_of(
      static_cast<std::uint16_t>(wire::ring_entry::slot_of(entry) % geometry_.capacity)));
  for (std::size_t offset = 0; offset < bytes_ahead; offset += wire::cache_line)
    detail::fetch_for_reading(slot + offset);
}

bool inbox::has_more() const noexcept {
  return taken_ < found_ || replay_next_ < replay_count_ ||
         wire::ring_entry::is_for(
             ring_[next_ticket_ & (geometry_.ring_size - 1)].load(std::memory_order_acquire),
             next_ticket_);
}

// True if there are new ones.
bool inbox::learn_peers(wire::address_ranges& ranges) noexcept {
  const std::uint32_t peers =
      std::min<std::uint32_t>(mailbox_->peers.load(std::memory_order_acquire), wire::max_peers);
  const bool more = peers_ < peers;
  for (; peers_ < peers; ++peers_)
    ranges[wire::first_peer_pool + peers_] = wire::range_of_peer(*mailbox_, peers_);
  return more;
}

void inbox::read(std::uint64_t entry, const operation_table& operations,
                 wire::address_ranges& ranges, job& to) {
  const std::uint16_t named = wire::ring_entry::slot_of(entry);
  const auto slot = static_cast<std::uint16_t>(named % geometry_.capacity);
  const std::uint8_t lane = wire::ring_entry::lane_of(entry);
  const wire::slot_header& header = header_of(slot);
  to.slot = slot;
  to.lane = lane % wire::max_lanes;
  to.ticket = header.ticket;
  to.deadline_ns = header.deadline_ns;
  to.sequence = header.sequence;
  // Acquire: if the program has opened it already, its stores for the request are visible.
  to.held = header.held.load(std::memory_order_acquire);
  const wire::end_mark mark = header.mark;
  to.mark = wire::without_stamps(mark);
  to.timed = wire::wants_stamps(mark);
  to.refused.reset();

  const std::uint64_t id = header.operation;
  const std::uint32_t bytes = header.payload_bytes;
  const std::uint64_t spill = header.spill_offset;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the compiler must not read it again
  to.release_request();
  if (to.op == nullptr || to.op->type->id != id) to.op = operations.find(id);
  const auto refuse = [&](error why) {
    to.own.clear();  // a refused request uses no buffers
    to.refused = std::move(why);
  };
  if (named != slot || lane != to.lane) {
    return refuse(
        {.code = errc::protocol_violation,
         .message = fmt::format("slot {} of {} in lane {}", named, geometry_.capacity, lane)});
  }
  if (to.op == nullptr) {
    return refuse(
        // The program may know the reason.
        {.code = errc::library_missing,
         .message = "this worker has no executor for the operation"});
  }
  const bool spilled = bytes > wire::slot_payload_bytes;
  if (spilled && (spill > geometry_.heap_bytes || bytes > geometry_.heap_bytes - spill)) {
    return refuse({.code = errc::protocol_violation,
                   .message = fmt::format("{} bytes at {} of a heap of {}", bytes, spill,
                                          geometry_.heap_bytes)});
  }
  if (payload_.size() < bytes) payload_.resize(bytes);
  const std::byte* from = spilled ? at(geometry_.heap_offset + spill)
                                  : reinterpret_cast<const std::byte*>(&header) + sizeof(header);
  if (bytes != 0) std::memcpy(payload_.data(), from, bytes);
  const std::span payload = std::span(payload_).first(bytes);
  to.known = decoded_.find(*to.op, payload, ranges);
  if (to.known != nullptr) return;
  auto decoded = to.own.decode(*to.op, payload, ranges);
  if (!decoded && learn_peers(ranges)) decoded = to.own.decode(*to.op, payload, ranges);
  if (!decoded) refuse(std::move(decoded).error());
}

}  // namespace troupe::worker
