#include "worker/intake/outbox.hpp"

#include "wire/reply.hpp"

#include <unistd.h>

namespace troupe::worker {

void outbox::prepare_reply(const job& j) noexcept {
  wire::reply_slot& reply = replies_[j.slot];
  reply = wire::reply_slot{};
  reply.ticket = j.ticket;
  reply.reply_bytes = static_cast<std::uint16_t>(j.op->type->reply_bytes);
  segment_->lanes[j.lane].replied.store(j.place, std::memory_order_relaxed);
}

void outbox::write_reply(const job& j, const result<void>& outcome) noexcept {
  wire::lane_mark& mark = segment_->lanes[j.lane];
  wire::reply_slot& reply = replies_[j.slot];
  if (!outcome) {
    wire::write_failure(reply, j.ticket, const_cast<result<void>&>(outcome).error());
    mark.replied.store(j.place, std::memory_order_relaxed);
  } else if (const std::size_t bytes = j.op->type->reply_bytes; bytes != 0 && !j.op->fails_late) {
    reply.ticket = j.ticket;
    reply.code = 0;
    reply.reply_bytes = static_cast<std::uint16_t>(bytes);
    mark.replied.store(j.place, std::memory_order_relaxed);
  }
}

void outbox::complete(job& j, const result<void>& outcome) noexcept {
  write_reply(j, outcome);
  wire::lane_mark& mark = segment_->lanes[j.lane];
  const std::uint64_t place = j.place;
  j.handed_back.store(true, std::memory_order_release);
  // Release: the reply, `replied` and everything the executor stored are visible to whoever sees
  // the count.
  mark.completed.store(place, std::memory_order_release);
  // Without a fence this look may come before the mark is visible, and so miss whoever goes to
  // sleep in that moment.
  wake_sleepers();
}

void outbox::completions_seen() noexcept {
  // Orders the marks before the look at who waits; the program's side announces its sleep, fences,
  // and looks at the marks once more, so one of the two sees the other.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  wake_sleepers();
}

void outbox::wake(std::uint32_t waits) noexcept {
  if (woken_.load(std::memory_order_relaxed) == waits) return;
  if (woken_.exchange(waits, std::memory_order_relaxed) == waits) return;
  if ((waits & wire::wait_thread) != 0) {
    bells_->completion.fetch_add(1, std::memory_order_release);
    os::futex_wake(bells_->completion, 1, os::sharing::processes);
  }
  if ((waits & wire::wait_prompt) != 0) ring_program();
}

void outbox::idle() noexcept {
  const std::uint32_t waits = mailbox_->waits.load(std::memory_order_relaxed);
  if ((waits & wire::wait_lazy) == 0) return;
  if (woken_idle_.exchange(waits, std::memory_order_relaxed) != waits) ring_program();
}

void outbox::ring_program() noexcept {
  const std::uint64_t one = 1;
  // An eventfd takes it at once; a full counter means that it is readable already.
  [[maybe_unused]] const ssize_t written = ::write(program_wakes_, &one, sizeof(one));
}

}  // namespace troupe::worker
