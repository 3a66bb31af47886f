#include "device/completion/answers.hpp"

#include "base/short_of_memory.hpp"
#include "wire/codec.hpp"
#include "wire/reply.hpp"

#include <troupe/request/any_request.hpp>

#include <new>
#include <utility>
#include <vector>

namespace troupe {

answers::answers(mailbox& requests, std::span<record> records, lane_walk& walk, taint_watch& taints,
                 quarantine_book& quarantine, protocol_violation& violation, bool on_device)
    : requests_(requests),
      records_(records.data()),
      walk_(walk),
      taints_(taints),
      quarantine_(quarantine),
      violation_(violation),
      freed_(std::make_unique<std::uint16_t[]>(records.size())),
      times_(on_device) {}

inline void answers::note_answered(record& r, const error* failure) {
  r.now = record::stage::answered;
  if (r.stop) r.stop.reset();
  if (r.quarantine == record::trial::decides) [[unlikely]]
    quarantine_.end_trial(r, failure == nullptr);
  // Only the role counts, so no other store can come between the load and the store.
  auto& count = failure != nullptr ? counts_.failed : counts_.answered;
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  if (failure == nullptr) [[likely]] {
    outcomes_.note_done(*r.type);
  } else {
    note_failed(r, failure->code);
  }
}

// The recorder has every failure, also of requests whose times are not taken.
void answers::note_failed(const record& r, errc code) {
  outcomes_.note_failed(*r.type, code);
  flight_recorder* const recorder = outcomes_.recorder();
  if (recorder == nullptr || r.is_sampled()) return;
  recorder->note({.name = r.type->name,
                  .id = r.ticket,
                  .tag = r.tag,
                  .generation = generation_,
                  .lane = r.lane,
                  .outcome = code,
                  .ended = std::chrono::steady_clock::now()});
}

// Before its answer runs, which may ask for the times, or change what it has left.
void answers::note_end(std::uint16_t slot, const std::byte* reply, const error* failure) {
  const record& r = records_[slot];
  if (r.is_noted()) notes_->ended(r, slot, reply, failure);
  if (r.has_times()) note_times(slot, failure);
}

void answers::note_times(std::uint16_t slot, const error* failure) {
  const record& r = records_[slot];
  times_.note(walk_.segment(), requests_.capacity(), slot, r.ticket);
  if (!r.is_sampled()) return;
  using clock = std::chrono::steady_clock;
  const clock::time_point sent(std::chrono::nanoseconds(r.sent_ns));
  const request_times times = times_.of_request(sent);
  const clock::time_point ended = clock::now();
  if (failure == nullptr) outcomes_.note_times(*r.type, ended - sent, times);
  outcomes_.tags().note(r.tag, times.device);
  if (outcomes_.recorder() == nullptr) return;
  outcomes_.recorder()->note({.name = r.type->name,
                              .id = r.ticket,
                              .tag = r.tag,
                              .generation = generation_,
                              .lane = r.lane,
                              .outcome = failure == nullptr ? errc{} : failure->code,
                              .sent = sent,
                              .ended = ended,
                              .times = times});
}

inline void answers::free_slot(std::uint16_t slot) {
  record& r = records_[slot];
  r.operands.clear();
  if (r.heap) requests_.give_back_heap(*std::exchange(r.heap, std::nullopt));
  r.now = record::stage::unseen;
  walk_.forget_one();
  freed_[freed_count_++] = slot;
}

// Answers a request, unless it was answered. Its slot is already free, so the answer can send
// again.
void answers::end(std::uint16_t slot, std::byte* reply, error* failure, slot_is what, begun had) {
  record& r = records_[slot];
  completion done;
  std::optional<error> undefined;
  if (failure != nullptr) [[unlikely]] {
    complete(slot, *failure);
    // One that an earlier worker has completed is passed over by this one.
    const bool judged = r.answered() && !r.early;
    if (had != begun::unknown && !judged) leave_undefined(slot, *failure, had);
    const bool is_fault = failure->code == errc::device_fault || failure->code == errc::poisonous;
    if (is_fault && keep_fault_ && !r.answered()) {
      walk_.advance();
      keep_fault_(slot, *failure);
    }
  }
  if (!r.answered()) {
    if (r.watched) [[unlikely]] {
      insist_on([&] { undefined = taints_.conclude(slot, failure == nullptr); });
      if (undefined && failure == nullptr) {
        failure = &*undefined;
        reply = nullptr;
        complete(slot, *failure);
      }
      // It may have run, whatever its answer is.
      if (undefined) insist_on([&] { taints_.invalidate(slot, *failure); });
    }
    // It is not run again, so its outputs stay half written.
    if (failure != nullptr && r.losses.interrupted) {
      insist_on([&] { taints_.invalidate(slot, *failure); });
    }
    note_answered(r, failure);
    if (r.timed != record::timing::none) [[unlikely]]
      note_end(slot, reply, failure);
    if (r.done) done = std::move(r.done);
  } else {
    r.early.reset();
    if (r.is_noted()) notes_->freed(slot);
  }
  if (what == slot_is::freed) free_slot(slot);
  if (!done) return;
  give_back_freed();
  try {
    done(reply, failure);
  } catch (const std::bad_alloc&) {
    // It has not answered yet: `done` decodes the reply first.
    error none = no_host_memory();
    done(nullptr, &none);
  }
}

// Taints the outputs of a failed request. One that was answered early is the cause of its
// readers' failures by that answer. A mapping writes nothing: the program does.
void answers::leave_undefined(std::uint16_t slot, const error& why, begun had) {
  const record& r = records_[slot];
  const bool keeps = is_mapping(*r.type) || has_kept_outputs(slot, why.code);
  if (keeps && (had == begun::yes || is_mapping(*r.type))) return;
  taint_limits until;
  if (had == begun::no) {
    walk_.advance();  // the limit is a ticket: all requests before it are in flight
    until.updated = r.early ? r.early->before : walk_.next_ticket();
    if (keeps) until.overwritten = until.updated;
  }
  insist_on([&] { taints_.invalidate(slot, r.early ? r.early->why : why, until); });
}

struct answers::word_left {
  wire::reply_copy copy;
  std::optional<any_value> described;
  begun had = begun::yes;  // unless the worker says otherwise
};

// Ends a completed request with the reply or failure in the worker's segment.
void answers::end_as_left(const wire::worker_header* segment, std::uint16_t slot,
                          bool may_have_reply, slot_is what) {
  const record& r = records_[slot];
  word_left left;
  std::optional<error> failure;
  try {
    failure = read_word(segment, slot, may_have_reply, what, left);
  } catch (const std::bad_alloc&) {
    failure = no_host_memory();
  }
  if (failure) return end(slot, nullptr, &*failure, what, left.had);
  std::byte* const plain = r.type->has_reply() ? left.copy.slot.bytes : nullptr;
  end(slot, left.described ? reinterpret_cast<std::byte*>(&*left.described) : plain, nullptr, what);
}

// Reads a worker's answer to a request. \returns the failure that it reports, or is
std::optional<error> answers::read_word(const wire::worker_header* segment, std::uint16_t slot,
                                        bool may_have_reply, slot_is what, word_left& left) {
  const record& r = records_[slot];
  wire::reply_copy& copy = left.copy;
  const bool has_reply =
      may_have_reply && wire::copy_reply(segment, requests_.capacity(), slot, r.ticket, copy);
  if (has_reply && copy.slot.heap_place != 0 && what == slot_is::freed) {
    // Release: the reply has been copied.
    requests_.header(slot).held.store(wire::hold::reply_copied, std::memory_order_release);
  }
  bool can_be = has_reply && copy.is_whole;
  if (can_be) {
    if (auto failure = wire::read_failure(copy.slot, copy.bytes())) {
      if (!wire::had_begun(copy.slot)) left.had = begun::no;
      return failure;
    }
  }
  if (!r.type->has_reply() && (can_be || !has_reply)) return std::nullopt;
  if (can_be && r.type->described_reply != nullptr) {
    any_value& reply = left.described.emplace(*r.type->described_reply);
    std::vector<wire::operand> none;
    if (wire::decode(reply.type(), reply.data(), copy.bytes(), {}, none)) return std::nullopt;
    can_be = false;
  }
  can_be = can_be && r.type->described_reply == nullptr && copy.slot.heap_place == 0 &&
           copy.slot.reply_bytes == r.type->reply_bytes && r.type->reply_bytes != 0 &&
           (r.type->reply_can_be == nullptr || r.type->reply_can_be(copy.slot.bytes));
  if (can_be) return std::nullopt;
  const char* const how =
      has_reply ? "a completion with an invalid reply" : "a completion without its reply";
  // A worker that lost a reply may have lost or changed anything else.
  if (segment == walk_.segment()) violation_.note([&] { return how; });
  return error{.code = errc::protocol_violation, .message = how};
}

void answers::answer_completed(std::uint16_t slot, const wire::worker_header* by,
                               bool may_have_reply) {
  requests_.header(slot).revoked.store(1, std::memory_order_relaxed);
  end_as_left(by, slot, may_have_reply, slot_is::kept);
}

void answers::answer_early(std::uint16_t slot, error why) {
  if (records_[slot].losses.kills > 0) ++skipped_reruns_;
  requests_.header(slot).revoked.store(1, std::memory_order_relaxed);
  complete(slot, why);
  insist_on(
      [&] { records_[slot].early = std::make_unique<early_answer>(requests_.next_ticket(), why); });
  end(slot, nullptr, &why, slot_is::kept);
}

void answers::forget(std::uint16_t slot) {
  if (!records_[slot].early) return;
  leave_undefined(slot, records_[slot].early->why, begun::no);
  records_[slot].early.reset();
}

void answers::drop(std::uint16_t slot, error why) {
  const bool interrupted = records_[slot].losses.interrupted;
  end(slot, nullptr, &why, slot_is::freed, interrupted ? begun::yes : begun::no);
  give_back_freed();
}

void answers::give_back_freed() noexcept {
  if (freed_count_ == 0) return;
  requests_.give_back_slots({freed_.get(), std::exchange(freed_count_, 0)});
}

// If there is no memory to look at the request, its outputs count as undefined.
bool answers::has_kept_outputs(std::uint16_t slot, errc code) {
  try {
    return keeps_outputs_ && keeps_outputs_(slot, code);
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// If there is no memory for the details, the error is reported without them.
void answers::complete(std::uint16_t slot, error& failure) {
  try {
    complete_error_(slot, failure);
  } catch (const std::bad_alloc&) {
    return;
  }
}

std::string answers::text_of(std::uint16_t slot) {
  error named;
  complete_error_(slot, named);
  return std::move(named.request);
}

}  // namespace troupe
