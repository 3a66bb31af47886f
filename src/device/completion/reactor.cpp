#include "device/completion/reactor.hpp"

#include "base/short_of_memory.hpp"
#include "wire/codec.hpp"
#include "wire/reply.hpp"

#include <troupe/request/any_request.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

namespace troupe {
namespace {

using clock = std::chrono::steady_clock;

// As in the worker: a sleep costs some 50 µs. For shorter waits spinning pays, but it takes a
// processor that the worker may need.
constexpr clock::duration waiter_spins = std::chrono::microseconds(50);
// An accelerator needs no processor, so a sleep pays only if the wait is longer than this. Plain
// CUDA programs spin for ever.
constexpr clock::duration accelerator_waiter_spins = std::chrono::milliseconds(5);

clock::duration spins_for(const memory_pool& device_memory) noexcept {
  return device_memory.on_device() ? accelerator_waiter_spins : waiter_spins;
}

}  // namespace

reactor::handle reactor::create(std::shared_ptr<mailbox> requests,
                                std::shared_ptr<os::unique_fd> device_wakes,
                                std::shared_ptr<memory_pool> device_memory,
                                std::shared_ptr<memory_pool> host_memory,
                                std::chrono::nanoseconds quarantine) {
  return handle(new reactor(std::move(requests), std::move(device_wakes), std::move(device_memory),
                            std::move(host_memory), quarantine));
}

reactor::reactor(std::shared_ptr<mailbox> requests, std::shared_ptr<os::unique_fd> device_wakes,
                 std::shared_ptr<memory_pool> device_memory,
                 std::shared_ptr<memory_pool> host_memory, std::chrono::nanoseconds quarantine)
    : mailbox_(std::move(requests)),
      device_wakes_(std::move(device_wakes)),
      requests_(*mailbox_),
      spins_(spins_for(*device_memory)),
      traced_(requests_.traced()),
      on_device_(device_memory->on_device()),
      records_(std::make_unique<record[]>(requests_.capacity())),
      taints_({records_.get(), requests_.capacity()}, std::move(device_memory),
              std::move(host_memory)),
      quarantine_(quarantine),
      lane_ring_mask_(std::bit_ceil(requests_.capacity()) - 1),
      // Left uninitialised: pages of unused lanes are never touched.
      lane_slots_(
          std::make_unique_for_overwrite<std::uint16_t[]>(wire::max_lanes * (lane_ring_mask_ + 1))),
      freed_(std::make_unique<std::uint16_t[]>(requests_.capacity())) {
  for (std::size_t i = 0; i < lanes_.size(); ++i)
    lanes_[i].slots = lane_slots_.get() + i * (lane_ring_mask_ + 1);
  set_waits(wire::wait_lazy);
}

reactor::~reactor() = default;

void reactor::release() noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

void reactor::walk() {
  const std::uint64_t first = cursor_;
  std::uint64_t ticket = first;
  bool doubtful = false;
  while (const std::uint64_t entry = requests_.entry(ticket)) {
    const std::uint16_t slot = wire::ring_entry::slot_of(entry);
    record& r = records_[slot];
    r.ticket = ticket++;
    r.in_flight = true;
    place_in_lane(slot);
    doubtful = doubtful || is_doubtful(r);
  }
  in_flight_count_ += ticket - first;
  cursor_ = ticket;
  if (doubtful) [[unlikely]]
    screen_sent(first, ticket);
}

// True if something was tainted since the operands were checked. The count is read for each
// request, because it may change between two.
bool reactor::is_doubtful(const record& r) const noexcept {
  return r.watched || r.taint_changes != taints_.changes();
}

void reactor::screen_sent(std::uint64_t first, std::uint64_t end) {
  for (std::uint64_t ticket = first; ticket < end; ++ticket) {
    const std::uint16_t slot = wire::ring_entry::slot_of(requests_.entry(ticket));
    const record& r = records_[slot];
    // The answer to an earlier one may have ended it, and even sent another in its slot.
    if (r.in_flight && r.ticket == ticket && is_doubtful(r)) screen(slot);
  }
}

void reactor::screen(std::uint16_t slot) {
  if (records_[slot].answered) return;
  std::optional<error> why;
  try {
    why = taints_.screen(slot);
  } catch (const std::bad_alloc&) {
    why = no_host_memory();
    insist_on([&] { taints_.invalidate(slot, *why); });  // it may run, whatever it reads
  }
  if (why) answer_early(slot, *std::move(why));
}

void reactor::screen_in_flight() {
  walk();
  for (const std::uint16_t slot : in_flight()) {
    // A held request may have run; it is judged once that is known.
    const bool held =
        requests_.header(slot).held.load(std::memory_order_relaxed) == wire::hold::until_released;
    if (!held && records_[slot].in_flight) screen(slot);
  }
}

inline void reactor::place_in_lane(std::uint16_t slot) {
  record& r = records_[slot];
  lane& l = lanes_[r.lane];
  r.place = l.first + ++l.count;
  slot_at(l, r.place) = slot;
  busy_lanes_ |= 1u << r.lane;
}

bool reactor::poll() {
  walk();
  bool progress = take_completions();
  while (deferred_ && take_completions())
    progress = true;
  while (taints_.take_invalidation())
    insist_on([this] { screen_in_flight(); });
  give_back_freed();
  if (in_flight_count_ == 0 && prompt_.load(std::memory_order_relaxed)) settle_prompt();
  return progress;
}

// No continuation waits any more, unless its request was sent since the walk. Acquire: if the flag
// was set for such a request, another walk finds it.
void reactor::settle_prompt() {
  prompt_.exchange(false, std::memory_order_acq_rel);
  walk();
  if (in_flight_count_ > 0) prompt_.store(true, std::memory_order_relaxed);
}

bool reactor::take_completions() {
  deferred_ = false;
  if (segment_ == nullptr) return false;
  lane_ends ends;
  look_at_marks(ends);
  if (ends.lanes == 0) return false;
  if (is_word_left()) [[unlikely]]
    return take_in_order(ends);
  bool progress = false;
  for (std::uint32_t left = ends.lanes; left != 0; left &= left - 1) {
    const auto number = static_cast<std::size_t>(__builtin_ctz(left));
    // Compared again each time: an answer may send, and so poll recursively.
    while (lanes_[number].first < ends.of[number].completed && lanes_[number].count > 0) {
      if (!take_first(number, ends.of[number].replied)) break;
      progress = true;
    }
  }
  return progress;
}

inline void reactor::look_at_marks(lane_ends& ends) {
  for (std::uint32_t busy = busy_lanes_; busy != 0; busy &= busy - 1) {
    const auto number = static_cast<std::size_t>(__builtin_ctz(busy));
    const lane& l = lanes_[number];
    const wire::lane_mark& mark = segment_->lanes[number];
    const std::uint64_t completed = mark.completed.load(std::memory_order_acquire);
    if (completed == l.first) continue;
    // A request may have been sent and completed since the walk above. Its entry is visible now,
    // because the worker read it before it stored this mark.
    if (completed > l.first + l.count) walk();
    if (completed < l.first || completed > l.first + l.count) {
      note_violation([&] {
        return fmt::format("mark {} in lane {} is out of range, {} to {}", completed, number,
                           l.first, l.first + l.count);
      });
      continue;
    }
    ends.lanes |= 1u << number;
    ends.of[number] = {completed, mark.replied.load(std::memory_order_relaxed)};
  }
}

// True if one of several lanes has a reply that is not taken yet; it may be a failure. If a
// completed request waited for another one, this look shows that one's end, though the previous
// look may not.
inline bool reactor::is_word_left() const noexcept {
  if ((busy_lanes_ & (busy_lanes_ - 1)) == 0) return false;
  for (std::uint32_t busy = busy_lanes_; busy != 0; busy &= busy - 1) {
    const auto number = static_cast<std::size_t>(__builtin_ctz(busy));
    const std::uint64_t replied = segment_->lanes[number].replied.load(std::memory_order_relaxed);
    if (replied > lanes_[number].first) return true;
  }
  return false;
}

// Ends the first request of a lane. False if another request must end before it.
inline bool reactor::take_first(std::size_t number, std::uint64_t replied) {
  lane& l = lanes_[number];
  const std::uint16_t next = slot_at(l, l.first + 1);
  if (records_[next].watched && taints_.must_wait(next)) [[unlikely]] {
    deferred_ = true;
    return false;
  }
  l.last_type = records_[next].type;
  l.last_ticket = records_[next].ticket;
  ++l.first;
  --l.count;
  if (l.count == 0) busy_lanes_ &= ~(1u << number);
  finish(next, replied >= l.first);
  return true;
}

// After a failure, requests of all lanes end in the order sent: a later request may have
// overwritten what the failure left undefined, and another may have read it in between.
bool reactor::take_in_order(lane_ends& ends) {
  add_earlier(ends);
  bool progress = false;
  for (std::uint32_t left = ends.lanes; left != 0;) {
    std::size_t first = 0;
    std::uint64_t least = ~std::uint64_t{0};
    for (std::uint32_t one = left; one != 0; one &= one - 1) {
      const auto number = static_cast<std::size_t>(__builtin_ctz(one));
      lane& l = lanes_[number];
      if (l.first >= ends.of[number].completed || l.count == 0) {
        left &= ~(1u << number);
        continue;
      }
      const std::uint64_t ticket = records_[slot_at(l, l.first + 1)].ticket;
      if (ticket < least) {
        least = ticket;
        first = number;
      }
    }
    if (left == 0) break;
    if (take_first(first, ends.of[first].replied)) {
      progress = true;
    } else {
      left &= ~(1u << first);
    }
  }
  return progress;
}

inline void reactor::finish(std::uint16_t slot, bool may_have_reply) {
  if (!may_have_reply && !records_[slot].type->has_reply()) [[likely]] {
    return end(slot, nullptr, nullptr, slot_is::freed);
  }
  end_as_left(segment_, slot, may_have_reply, slot_is::freed);
}

void reactor::answer_completed(std::uint16_t slot, const wire::worker_header* by,
                               bool may_have_reply) {
  requests_.header(slot).revoked.store(1, std::memory_order_relaxed);
  end_as_left(by, slot, may_have_reply, slot_is::kept);
}

template <class Text>
void reactor::note_violation(Text&& text) {
  if (violation_) return;
  violation_ = error{.code = errc::protocol_violation};
  wake_device_thread();
  try {
    violation_->message = text();
  } catch (const std::bad_alloc&) {
    return;  // the code is enough
  }
}

struct reactor::word_left {
  wire::reply_copy copy;
  std::optional<any_value> described;
  begun had = begun::yes;  // unless the worker says otherwise
};

// Ends a completed request with the reply or failure in the worker's segment.
void reactor::end_as_left(const wire::worker_header* segment, std::uint16_t slot,
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
std::optional<error> reactor::read_word(const wire::worker_header* segment, std::uint16_t slot,
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
  if (segment == segment_) note_violation([&] { return how; });
  return error{.code = errc::protocol_violation, .message = how};
}

// If there is no memory to look at the request, its outputs count as undefined.
bool reactor::keeps_outputs(std::uint16_t slot, errc code) {
  try {
    return keeps_outputs_ && keeps_outputs_(slot, code);
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// Answers a request, unless it was answered. Its slot is already free, so the answer can send
// again.
void reactor::end(std::uint16_t slot, std::byte* reply, error* failure, slot_is what, begun had) {
  record& r = records_[slot];
  completion done;
  std::optional<error> undefined;
  if (failure != nullptr) [[unlikely]] {
    complete(slot, *failure);
    // One that an earlier worker has completed is passed over by this one.
    const bool judged = r.answered && !r.early;
    if (had != begun::unknown && !judged) leave_undefined(slot, *failure, had);
  }
  if (!r.answered) {
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
    if (failure != nullptr && r.interrupted) {
      insist_on([&] { taints_.invalidate(slot, *failure); });
    }
    note_answered(r, failure != nullptr);
    if (r.done) done = std::move(r.done);
  } else {
    r.early.reset();
  }
  if (traced_) [[unlikely]]
    note_stamps(slot);
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
void reactor::leave_undefined(std::uint16_t slot, const error& why, begun had) {
  const record& r = records_[slot];
  const bool keeps = is_mapping(*r.type) || keeps_outputs(slot, why.code);
  if (keeps && (had == begun::yes || is_mapping(*r.type))) return;
  taint_limits until;
  if (had == begun::no) {
    walk();
    until.updated = r.early ? r.early->before : cursor_;
    if (keeps) until.overwritten = until.updated;
  }
  insist_on([&] { taints_.invalidate(slot, r.early ? r.early->why : why, until); });
}

// If there is no memory for the details, the error is reported without them.
void reactor::complete(std::uint16_t slot, error& failure) {
  try {
    complete_error_(slot, failure);
  } catch (const std::bad_alloc&) {
    return;
  }
}

inline void reactor::note_answered(record& r, bool failed) {
  r.answered = true;
  if (r.stop) r.stop.reset();
  if (r.on_trial) [[unlikely]]
    quarantine_.end_trial(r, !failed);
  // Only the role counts, so no other store can come between the load and the store.
  auto& count = failed ? counts_.failed : counts_.answered;
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

inline void reactor::free_slot(std::uint16_t slot) {
  record& r = records_[slot];
  r.operands.clear();
  if (r.heap) requests_.give_back_heap(*std::exchange(r.heap, std::nullopt));
  r.in_flight = false;
  --in_flight_count_;
  freed_[freed_count_++] = slot;
}

void reactor::give_back_freed() noexcept {
  if (freed_count_ == 0) return;
  requests_.give_back_slots({freed_.get(), std::exchange(freed_count_, 0)});
}

std::string reactor::text_of(std::uint16_t slot) {
  error named;
  complete_error_(slot, named);
  return std::move(named.request);
}

void reactor::answer_early(std::uint16_t slot, error why) {
  if (records_[slot].kills > 0) ++skipped_reruns_;
  requests_.header(slot).revoked.store(1, std::memory_order_relaxed);
  complete(slot, why);
  insist_on(
      [&] { records_[slot].early = std::make_unique<early_answer>(requests_.next_ticket(), why); });
  end(slot, nullptr, &why, slot_is::kept);
}

void reactor::forget(std::uint16_t slot) {
  if (!records_[slot].early) return;
  leave_undefined(slot, records_[slot].early->why, begun::no);
  records_[slot].early.reset();
}

void reactor::drop(std::uint16_t slot, error why) {
  const record& r = records_[slot];
  end(slot, nullptr, &why, slot_is::freed, r.interrupted ? begun::yes : begun::no);
  give_back_freed();
}

void reactor::drop_answered() {
  for (const std::uint16_t slot : in_flight()) {
    const wire::hold held = requests_.header(slot).held.load(std::memory_order_relaxed);
    if (records_[slot].answered && held == wire::hold::none) drop(slot, {});
  }
}

std::vector<std::uint16_t> reactor::in_flight() const {
  std::vector<std::uint16_t> slots;
  for (std::uint32_t slot = 0; slot < requests_.capacity(); ++slot) {
    if (records_[slot].in_flight) slots.push_back(static_cast<std::uint16_t>(slot));
  }
  std::sort(slots.begin(), slots.end(), [this](std::uint16_t a, std::uint16_t b) {
    return records_[a].ticket < records_[b].ticket;
  });
  return slots;
}

void reactor::attach(wire::worker_header* segment, std::uint64_t worker,
                     const std::vector<std::uint16_t>& replay) {
  segment_ = segment;
  worker_ = worker;
  busy_lanes_ = 0;
  for (lane& l : lanes_) {
    l.first = l.count = l.last_ticket = 0;
    l.last_type = nullptr;
  }
  for (const std::uint16_t slot : replay)
    place_in_lane(slot);
}

}  // namespace troupe
