#pragma once

#include "os/futex.hpp"
#include "wire/layout.hpp"
#include "worker/intake/job.hpp"
#include "worker/intake/reply_heap.hpp"

#include <troupe/base/result.hpp>

#include <atomic>
#include <cstdint>

namespace troupe::worker {

/// The worker's end of the answers: marks, replies, and wake-ups. Any thread may call it; only the
/// thread that runs a lane's current job writes that lane's marks.
class outbox {
 public:
  outbox(wire::worker_header* segment, const wire::mailbox_header* mailbox, wire::doorbells* bells,
         int program_wakes) noexcept
      : segment_(segment),
        replies_(reinterpret_cast<wire::reply_slot*>(segment + 1)),
        mailbox_(mailbox),
        bells_(bells),
        program_wakes_(program_wakes),
        heap_(reinterpret_cast<std::byte*>(segment) +
                  wire::reply_heap_offset(mailbox->geometry.capacity),
              mailbox) {}

  /// Relaxed, see `wire::lane_mark`. The program may revoke the request at this moment and miss
  /// this store; a fence for each request would cost more than all else here.
  void started(const job& j) noexcept {
    heap_.release(j.slot);  // the slot is reused, so the program has copied its last reply
    segment_->lanes[j.lane].started.store(j.place, std::memory_order_relaxed);
  }

  /// The job's executor is running from here on, until `returned`; see `wire::lane_mark`.
  void calls(const job& j) noexcept {
    segment_->lanes[j.lane].calls.store(j.ticket + 1, std::memory_order_relaxed);
  }
  void returned(const job& j) noexcept {
    segment_->lanes[j.lane].calls.store(0, std::memory_order_relaxed);
  }

  /// Says which of a lane's requests have no mark of their own; see `wire::lane_mark`.
  void set_unmarked(std::size_t lane, std::uint64_t places) noexcept {
    segment_->lanes[lane].unmarked.store(places, std::memory_order_relaxed);
  }

  /// The memory to which the executor writes the plain reply of a job.
  [[nodiscard]] std::byte* reply_memory(const job& j) noexcept { return replies_[j.slot].bytes; }
  /// Stores the described reply of a job, before its outcome is written.
  /// \errors `size_overflow` if it is longer than the heap; `out_of_memory` if other replies occupy
  /// the heap
  [[nodiscard]] result<void> put_reply(const job& j, const void* reply);

  /// The empty stamps of a job if the program wants its times; else null.
  [[nodiscard]] wire::request_stamps* stamps_for(const job& j) noexcept {
    if (!j.timed) [[likely]]
      return nullptr;
    auto& stamps = wire::stamps_of(segment_, mailbox_->geometry.capacity, j.slot);
    stamps = {.ticket = j.ticket};
    return &stamps;
  }

  /// Publishes the outcome: the reply first, then the mark. A program that polls sees it; a
  /// sleeping one is woken at once if it was seen to sleep, else by the next `completions_seen`.
  /// After the mark the slot, and with it the job, may be reused.
  void complete(job& j, const result<void>& outcome) noexcept;

  // The same in steps, for a mark that an accelerator writes.

  /// Call before enqueuing a job that an accelerator may turn into a failure: writes a success,
  /// which the accelerator may change until the mark.
  void prepare_reply(const job& j) noexcept;
  /// Writes the outcome as `complete` does, but without the mark. Bytes that the accelerator writes
  /// to the job's reply before the mark belong to the reply.
  void write_reply(const job& j, const result<void>& outcome) noexcept;
  /// The address of a lane's mark.
  [[nodiscard]] std::uint64_t* mark_of(std::size_t lane) noexcept {
    static_assert(sizeof(std::atomic<std::uint64_t>) == sizeof(std::uint64_t));
    return reinterpret_cast<std::uint64_t*>(&segment_->lanes[lane].completed);
  }
  /// The lane's mark now. Acquire: everything written before it is visible.
  [[nodiscard]] std::uint64_t completed(std::size_t lane) const noexcept {
    return segment_->lanes[lane].completed.load(std::memory_order_acquire);
  }
  /// Wakes threads that sleep until a mark moves. Call it after `complete` and before the calling
  /// thread does anything that may take long; it costs as much as the rest of a short request, so
  /// call it once for several.
  void completions_seen() noexcept;

  /// Called when there is nothing left to do: wakes a program that let completions pile up.
  void idle() noexcept;

 private:
  void write_failure(const job& j, const error& failure) noexcept;
  void wake_sleepers() noexcept {
    const std::uint32_t waits = mailbox_->waits.load(std::memory_order_relaxed);
    if ((waits & (wire::wait_thread | wire::wait_prompt)) != 0) wake(waits);
  }
  void wake(std::uint32_t waits) noexcept;
  void ring_program() noexcept;

  wire::worker_header* segment_;
  wire::reply_slot* replies_;
  const wire::mailbox_header* mailbox_;
  wire::doorbells* bells_;
  int program_wakes_;  // eventfd of the program's device thread
  reply_heap heap_;
  // The last `waits` values that were answered with a wake. Relaxed: the thread that changes it
  // wakes, and everything awaited was stored before; see `completions_seen`.
  std::atomic<std::uint32_t> woken_{0};
  std::atomic<std::uint32_t> woken_idle_{0};
};

}  // namespace troupe::worker
