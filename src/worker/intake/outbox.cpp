#include "worker/intake/outbox.hpp"

#include "wire/codec.hpp"
#include "wire/reply.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <exception>

namespace troupe::worker {
namespace {

// With these two codes the executor had not begun: something that it needs is missing.
bool has_begun(const job& j, errc code) noexcept {
  return !j.refused && code != errc::unsupported && code != errc::library_missing;
}

}  // namespace

result<void> outbox::put_reply(const job& j, const void* reply) {
  const value_type& type = *j.op->type->described_reply;
  wire::reply_slot& to = replies_[j.slot];
  wire::no_operands none;
  auto bytes = wire::encode(type, reply, to.bytes, none);
  if (!bytes) return std::move(bytes).error();
  to.heap_place = 0;
  if (*bytes > sizeof(to.bytes)) {
    const reply_heap::piece piece = heap_.take(j.slot, *bytes);
    if (piece.bytes.empty()) {
      const bool is_longer = *bytes > wire::reply_heap_bytes;
      return error{.code = is_longer ? errc::size_overflow : errc::out_of_memory,
                   .message = fmt::format("the reply takes {} bytes; there are {} bytes for {}",
                                          *bytes, wire::reply_heap_bytes,
                                          is_longer ? "one" : "all that are not answered yet")};
    }
    bytes = wire::encode(type, reply, piece.bytes, none);
    if (!bytes) return std::move(bytes).error();
    to.heap_place = piece.place;
  } else {
    heap_.release(j.slot);
  }
  to.reply_bytes = static_cast<std::uint32_t>(*bytes);
  return {};
}

void outbox::write_failure(const job& j, const error& failure) noexcept {
  wire::reply_slot& reply = replies_[j.slot];
  heap_.release(j.slot);
  if (const std::size_t bytes = wire::text_bytes(failure); bytes > sizeof(reply.bytes)) {
    try {
      const reply_heap::piece piece = heap_.take(j.slot, bytes);
      if (!piece.bytes.empty())
        return wire::write_failure(reply, j.ticket, failure, piece.bytes, piece.place);
    } catch (const std::exception&) {
      // Without memory even for that, the text is cut.
    }
  }
  wire::write_failure(reply, j.ticket, failure);
}

void outbox::prepare_reply(const job& j) noexcept {
  wire::reply_slot& reply = replies_[j.slot];
  reply = wire::reply_slot{};
  reply.ticket = j.ticket;
  reply.reply_bytes = static_cast<std::uint32_t>(j.op->type->reply_bytes);
  segment_->lanes[j.lane].replied.store(j.place, std::memory_order_relaxed);
}

void outbox::write_reply(const job& j, const result<void>& outcome) noexcept {
  wire::lane_mark& mark = segment_->lanes[j.lane];
  wire::reply_slot& reply = replies_[j.slot];
  if (!outcome) {
    const error& failure = const_cast<result<void>&>(outcome).error();
    write_failure(j, failure);
    if (!has_begun(j, failure.code)) reply.code |= wire::not_begun;
  } else if (j.op->type->described_reply != nullptr) {
    reply.ticket = j.ticket;  // the rest is written, see `put_reply`
    reply.code = 0;
  } else if (j.op->fails_late) {
    return;  // the possible failure is written, see `prepare_reply`
  } else if (const std::size_t bytes = j.op->type->reply_bytes; bytes != 0) {
    reply.ticket = j.ticket;
    reply.code = 0;
    reply.reply_bytes = static_cast<std::uint32_t>(bytes);
    reply.heap_place = 0;
    heap_.release(j.slot);
  } else {
    return heap_.release(j.slot);
  }
  mark.replied.store(j.place, std::memory_order_relaxed);
}

void outbox::complete(job& j, const result<void>& outcome) noexcept {
  write_reply(j, outcome);
  wire::lane_mark& mark = segment_->lanes[j.lane];
  const std::uint64_t place = j.place;
  j.handed_back.store(true, std::memory_order_release);
  // Release: a thread that sees the count also sees the reply, `replied` and all stores of the
  // executor.
  mark.completed.store(place, std::memory_order_release);
  // Without a fence this read may come before the mark is visible, and so miss a thread that goes
  // to sleep at that moment.
  wake_sleepers();
}

void outbox::completions_seen() noexcept {
  // Orders the marks before the check for waiters. The program announces its sleep, fences, and
  // reads the marks once more, so at least one of the two sees the other.
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
  // An eventfd accepts it at once; a full counter means that it is readable already.
  [[maybe_unused]] const ssize_t written = ::write(program_wakes_, &one, sizeof(one));
}

}  // namespace troupe::worker
