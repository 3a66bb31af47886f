#pragma once

#include "wire/pools.hpp"

#include <troupe/request/request.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

/// The memory that the program and its workers share, byte for byte.
///
///  mailbox segment   written by the program, read-only in workers (sealed): requests and their
///                    order. It outlives workers: the device's mailbox.
///  doorbell page     written by both sides: the futex words of sleeping threads, and who sleeps.
///                    It only decides whether to wake a thread, so a worker that scribbles here
///                    costs time, never correctness.
///  worker segment    one per worker, written by it: marks, replies, its crash report. The program
///                    range-checks everything that it reads here.
namespace troupe::wire {

/// Raised with every change of anything in this folder.
inline constexpr std::uint32_t protocol_version = 22;
inline constexpr std::uint64_t magic = 0x54'52'4f'55'50'45'30'31u;  // "TROUPE01"

inline constexpr int max_lanes = 32;
/// Mapped tensors use the last lanes, and the parts of requests for several devices this one. Its
/// requests wait for other devices, so the worker never lets one of another lane wait for a thread
/// behind them.
inline constexpr int mapping_lanes = 8;
inline constexpr int world_lane = max_lanes - mapping_lanes - 1;
inline constexpr std::size_t cache_line = 64;
inline constexpr std::size_t slot_bytes = 512;

/// How the program learns of a request's end if an accelerator writes the marks.
enum class end_mark : std::uint8_t {
  own,     ///< at once: a thread waits
  shared,  ///< with later ones: no thread waits for just this one
  aside,   ///< the mark of a long request does not hold up those behind it in the lane
  apart,   ///< at once, with a mark before it, too, which shows when this one begins
};

/// The same for a request whose times the program wants: the worker writes `request_stamps`.
[[nodiscard]] constexpr end_mark with_stamps(end_mark m) noexcept {
  return static_cast<end_mark>(static_cast<std::uint8_t>(m) | 0x80u);
}
[[nodiscard]] constexpr bool wants_stamps(end_mark m) noexcept {
  return (static_cast<std::uint8_t>(m) & 0x80u) != 0;
}
[[nodiscard]] constexpr end_mark without_stamps(end_mark m) noexcept {
  return static_cast<end_mark>(static_cast<std::uint8_t>(m) & 0x7fu);
}

/// Reasons for a request to wait, besides its operands and its lane.
enum class hold : std::uint8_t {
  none,
  /// An earlier worker may still be running it: it and its dependents wait for
  /// `activation::released`. Set before the request is handed to the next worker.
  until_released,
  /// The program opens it (`mailbox::open`): the source or target of its copy is not ready yet.
  until_opened,
  /// It has ended, and the program has copied its reply from the heap, which may be reused. So this
  /// lasts only until the slot has its next request.
  reply_copied,
};

/// The header of a request. The program hands out slots and takes them back when their request has
/// completed, so a slot is stable from the moment its ring entry is visible. The payload follows at
/// once, so that a short request takes one cache line in all.
///
/// Written by the program before the entry is published, which orders it. Only the three atomics
/// change while the request is in flight, and they publish nothing: relaxed. If one of them must be
/// seen in time, another variable says so (`activation::released`).
struct slot_header {
  std::uint64_t operation = 0;     ///< `request_type::id`
  std::uint64_t ticket = 0;        ///< place in the order of all requests
  std::int64_t deadline_ns = 0;    ///< CLOCK_MONOTONIC; 0 for none
  std::uint64_t spill_offset = 0;  ///< in the heap, if the payload does not fit the slot
  /// The worker must have made the device's changes of memory up to this number before it may run
  /// this: the greatest number of a last change among the pools that the request names.
  std::uint64_t memory_version = 0;
  /// The request's place in an order that the program numbers; 0 for none. It is no part of the
  /// payload, so that requests which differ in it alone are recognised.
  std::uint64_t sequence = 0;
  std::uint32_t payload_bytes = 0;
  /// Set by the program when the request must not run any more (cancelled, expired). If it begins
  /// at that very moment it may still run: it keeps its operands until it ends.
  std::atomic<std::uint8_t> revoked{0};
  std::atomic<hold> held{hold::none};
  /// Set by the program for a request that was running when a worker was lost, and may have been
  /// the cause: it runs alone.
  std::atomic<std::uint8_t> alone{0};
  /// How the end of this request is marked, and whether it gets stamps (`with_stamps`).
  end_mark mark = end_mark::own;
};
inline constexpr std::size_t slot_payload_bytes = slot_bytes - sizeof(slot_header);
static_assert(slot_payload_bytes == 456, "device_config::mailbox_bytes states it");

/// One place of the ring: the slot, the lane, and the low bits of the ticket as proof that the
/// place holds this round's entry. A single 64-bit store publishes it, with release order: a thread
/// that reads it with acquire sees the whole slot.
struct ring_entry {
  std::uint64_t ticket = 0;
  std::uint16_t slot = 0;
  std::uint8_t lane = 0;

  static constexpr std::uint64_t ticket_mask = (std::uint64_t{1} << 39) - 1;

  /// 0 is no entry: the entry of a request has its first bit set.
  [[nodiscard]] constexpr std::uint64_t packed() const noexcept {
    return proof_of(ticket) << 24 | std::uint64_t{lane} << 16 | slot;
  }
  [[nodiscard]] static constexpr bool is_for(std::uint64_t packed, std::uint64_t ticket) noexcept {
    return packed >> 24 == proof_of(ticket);
  }
  [[nodiscard]] static constexpr std::uint16_t slot_of(std::uint64_t packed) noexcept {
    return static_cast<std::uint16_t>(packed);
  }
  [[nodiscard]] static constexpr std::uint8_t lane_of(std::uint64_t packed) noexcept {
    return static_cast<std::uint8_t>(packed >> 16);
  }

 private:
  static constexpr std::uint64_t proof_of(std::uint64_t ticket) noexcept {
    return (ticket & ticket_mask) | (ticket_mask + 1);
  }
};

/// Tells one worker to begin: first the replayed entries in their order, then the ring from
/// `first_ticket` on. Written before `worker` (release); a worker that reads its own number there
/// (acquire) sees the rest.
struct activation {
  std::atomic<std::uint64_t> worker{0};
  std::uint64_t first_ticket = 0;
  std::uint32_t replay_count = 0;
  /// Becomes 1 (release) when no earlier worker can run or store anything any more, and the program
  /// has revoked the held requests that must not run again.
  std::atomic<std::uint32_t> released{1};
};

/// The offsets of all parts of the mailbox segment, in bytes from its start.
struct mailbox_geometry {
  std::uint32_t capacity = 0;   ///< slots; at most 65 535
  std::uint32_t ring_size = 0;  ///< a power of two, at least twice `capacity`
  std::uint64_t ring_offset = 0;
  std::uint64_t replay_offset = 0;
  std::uint64_t slots_offset = 0;
  std::uint64_t heap_offset = 0;
  std::uint64_t heap_bytes = 0;
  std::uint64_t total_bytes = 0;
};

/// Start of the mailbox segment.
struct mailbox_header {
  std::uint64_t magic_number = magic;
  std::uint32_t version = protocol_version;
  mailbox_geometry geometry;
  /// The program's waiters for completions: an epoch and `wait_bits`. A worker reads it after each
  /// mark; it wakes each sleeper at most once per epoch.
  alignas(cache_line) std::atomic<std::uint32_t> waits{0};
  /// A bit for each lane that has run a graph: standbys prepare to record there. Set by the
  /// program, which then rings all workers.
  std::atomic<std::uint32_t> graph_lanes{0};
  alignas(cache_line) activation active;
  /// The address ranges of peers, by pool number from `first_peer_pool` on. The program adds a
  /// range (release) before it publishes a request that names the pool, and never changes one. So
  /// it never reuses a pool number either.
  std::atomic<std::uint32_t> peers{0};
  struct peer_range {
    std::uint64_t base = 0;
    std::uint64_t bytes = 0;
  };
  peer_range peer_ranges[max_peers]{};
};

enum wait_bits : std::uint32_t {
  wait_thread = 1,  ///< a thread sleeps on `doorbells::completion`
  wait_prompt = 2,  ///< the device thread sleeps and wants every completion at once
  wait_lazy = 4,    ///< the device thread sleeps; wake it when there is nothing left to do
  wait_epoch = 8,   ///< one step of the epoch
};

/// One worker's doorbells. The page holds `doorbell_sets` of them, used in turn by successive
/// workers, and lives as long as the device: ringing a worker that has just been replaced is
/// harmless.
///
/// A futex word is raised with release and read, before the last look, with acquire: a thread that
/// finds it raised sees the reason. `worker_sleeps` is relaxed, between fences: store it, fence,
/// look for requests; publish a request, fence, read it.
struct doorbells {
  /// Raised by the program to wake the worker, which sleeps on it.
  alignas(cache_line) std::atomic<std::uint32_t> request{0};
  /// 1 while no thread of the worker reads the mailbox: the sender of a new request must ring.
  alignas(cache_line) std::atomic<std::uint32_t> worker_sleeps{1};
  /// Raised by the worker to wake a waiting thread of the program.
  alignas(cache_line) std::atomic<std::uint32_t> completion{0};
};
inline constexpr std::uint64_t doorbell_sets = 4;

/// The progress of a lane. `started` and `completed` count the lane's requests in this worker. The
/// worker stores a reply before `completed` (release), so a thread that sees the count (acquire)
/// sees the reply. `replied` is the count at the last completion with a reply or an error: if it is
/// below a request's place, the request succeeded and there is nothing to read.
///
/// Requests of a queue may share one mark. In `unmarked` the worker sets the bit of a place, modulo
/// 64, if the next request may begin before a mark shows the end of this one: it shares a later
/// mark, or its mark is stored aside. A queue holds at most `queue_depth` requests, so a bit means
/// one place at a time.
///
/// `calls` is one more than the ticket of the request whose executor is running, or 0: on a queue
/// that need not be the request that has begun, but it can end the process all the same.
///
/// `part` is the number of the request within a list of requests (`graph::run`) whose executor is
/// running, from 1, or 0: a lost worker shows which one it was.
///
/// Each is written by one thread at a time, the owner of the lane. Counts never decrease. All but
/// `completed` are relaxed: while the worker runs, they are as old as the mark that was read before
/// (acquire) or newer. After its end all its stores are visible, in any order, because it was
/// reaped: a kill comes between two instructions, and all earlier ones are done. The calls between
/// these stores and the work keep the compiler from reordering them.
///
/// Members written ahead lie apart from those that the program polls.
struct alignas(cache_line) lane_mark {
  std::atomic<std::uint64_t> completed{0};
  std::atomic<std::uint64_t> replied{0};
  alignas(cache_line) std::atomic<std::uint64_t> started{0};
  std::atomic<std::uint64_t> unmarked{0};
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> part{0};
};
inline constexpr std::uint64_t queue_depth = 64;

/// The place of a lane's last request that can have begun: they begin one after the other, and
/// those that share a mark cannot be distinguished. Stays within `queue_depth` even if the mark is
/// nonsense.
[[nodiscard]] inline std::uint64_t last_begun(const lane_mark& mark) noexcept {
  const std::uint64_t completed = mark.completed.load(std::memory_order_acquire);
  const std::uint64_t given = mark.started.load(std::memory_order_acquire);
  const std::uint64_t unmarked = mark.unmarked.load(std::memory_order_relaxed);
  std::uint64_t place = completed + 1;
  while (place < given && place - completed < queue_depth && (unmarked >> place % 64 & 1) != 0)
    ++place;
  return place < given ? place : given;
}

/// Written by a worker's signal handler: `signal` last (release), so that 0 means that there is no
/// report. The program reads it once the worker was reaped.
struct alignas(cache_line) crash_report {
  std::atomic<std::uint32_t> signal{0};
  std::uint16_t has_ticket = 0;
  std::uint16_t from_outside = 0;  ///< another process sent the signal
  std::uint64_t ticket = 0;
  std::uint64_t address = 0;
};

/// Added to the code of a failure that was found before the request had begun: it wrote nothing.
inline constexpr std::uint16_t not_begun = 0x8000;

/// A reply; `ticket` identifies its request. It is in `bytes`, or in the segment's heap if it is
/// longer; so are an error's texts, one after the other: library, call, code name, message.
struct alignas(cache_line) reply_slot {
  std::uint64_t ticket = 0;
  std::int64_t vendor_code = 0;
  std::uint16_t code = 0;  ///< `errc`, plus `not_begun` if it had not; 0 for success
  std::uint16_t library_bytes = 0;
  std::uint16_t call_bytes = 0;
  std::uint16_t code_name_bytes = 0;
  std::uint32_t reply_bytes = 0;  ///< the reply's, or an error message's
  std::uint32_t heap_place = 0;   ///< in the heap, in units of `heap_unit` from 1; 0: in `bytes`
  alignas(32) std::byte bytes[slot_bytes - 32]{};  ///< an accelerator writes replies here
};
static_assert(sizeof(reply_slot) == slot_bytes);
static_assert(sizeof(reply_slot::bytes) >= reply_capacity_bytes);

/// The times at which the request of a slot ran, in nanoseconds, written by a worker if the program
/// asks for them (`wants_stamps`). Independent of the request's mark, so they exist also for a
/// request without waiters.
struct alignas(cache_line) request_stamps {
  std::uint64_t ticket = 0;        ///< the request's
  std::int64_t called = 0;         ///< CLOCK_MONOTONIC: its executor was called
  std::int64_t returned = 0;       ///< likewise: and returned
  std::uint64_t device_begin = 0;  ///< on the device's clock, if that has one
  std::uint64_t device_end = 0;
  std::int64_t turn = 0;  ///< nanoseconds before `called` that it waited for its turn
};
static_assert(sizeof(request_stamps) == cache_line);

/// Start of a worker segment; `capacity` reply slots follow, then as many stamps, then the heap for
/// replies that are longer than a slot. Only the worker allocates the heap: a piece belongs to a
/// slot until a later request of that slot begins. The program copies a reply before it gives the
/// slot back.
struct worker_header {
  lane_mark lanes[max_lanes];
  crash_report crash;
};

inline constexpr std::size_t reply_heap_bytes = std::size_t{64} << 20;
inline constexpr std::size_t heap_unit = 64;

/// The start of the heap: an accelerator writes only below it.
[[nodiscard]] constexpr std::size_t reply_heap_offset(std::uint32_t capacity) noexcept {
  return sizeof(worker_header) + capacity * (sizeof(reply_slot) + sizeof(request_stamps));
}
/// The stamps of a slot.
[[nodiscard]] inline request_stamps& stamps_of(worker_header* segment, std::uint32_t capacity,
                                               std::uint16_t slot) noexcept {
  auto* const replies = reinterpret_cast<reply_slot*>(segment + 1);
  return reinterpret_cast<request_stamps*>(replies + capacity)[slot];
}
[[nodiscard]] constexpr std::size_t worker_segment_bytes(std::uint32_t capacity) noexcept {
  return reply_heap_offset(capacity) + reply_heap_bytes;
}

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace troupe::wire
