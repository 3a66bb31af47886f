#include "device/completion/reactor.hpp"

#include "base/short_of_memory.hpp"
#include "base/spin_wait.hpp"

#include <new>
#include <utility>

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
                                const std::shared_ptr<memory_pool>& device_memory,
                                std::shared_ptr<memory_pool> host_memory,
                                std::chrono::nanoseconds quarantine) {
  return handle(new reactor(std::move(requests), std::move(device_wakes), device_memory,
                            std::move(host_memory), quarantine));
}

reactor::reactor(std::shared_ptr<mailbox> requests, std::shared_ptr<os::unique_fd> device_wakes,
                 const std::shared_ptr<memory_pool>& device_memory,
                 std::shared_ptr<memory_pool> host_memory, std::chrono::nanoseconds quarantine)
    : mailbox_(std::move(requests)),
      device_(std::move(device_wakes)),
      requests_(*mailbox_),
      spins_(spins_for(*device_memory)),
      records_(std::make_unique<record[]>(requests_.capacity())),
      copy_({records_.get(), requests_.capacity()}),
      taints_({records_.get(), requests_.capacity()}, device_memory, std::move(host_memory)),
      quarantine_(quarantine),
      violation_(device_),
      walk_(requests_, records_.get(), taints_, violation_),
      answers_(requests_, {records_.get(), requests_.capacity()}, walk_, taints_, quarantine_,
               violation_, device_memory->on_device()) {
  set_waits(wire::wait_lazy);
}

reactor::~reactor() = default;

void reactor::release() noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

void reactor::walk(const role& held) {
  walk_.advance();
  if (walk_.has_doubtful()) [[unlikely]]
    screen_doubtful(held);
}

void reactor::catch_up(const role& held) {
  const std::uint64_t sent = requests_.next_ticket();
  walk(held);
  // A sender between its ticket and its entry is a few instructions away from publishing.
  detail::yielding_wait wait;
  while (walk_.next_ticket() < sent) {
    wait.step();
    walk(held);
  }
}

void reactor::screen_doubtful(const role& held) {
  const auto [first, end] = walk_.take_doubtful();
  for (std::uint64_t ticket = first; ticket < end; ++ticket) {
    const std::uint16_t slot = wire::ring_entry::slot_of(requests_.entry(ticket));
    const record& r = records_[slot];
    // The answer to an earlier one may have ended it, and even sent another in its slot.
    if (r.in_flight() && r.ticket == ticket && walk_.is_doubtful(r)) screen(held, slot);
  }
}

void reactor::screen(const role& held, std::uint16_t slot) {
  if (records_[slot].answered()) return;
  std::optional<error> why;
  try {
    why = taints_.screen(slot);
  } catch (const std::bad_alloc&) {
    why = no_host_memory();
    insist_on([&] { taints_.invalidate(slot, *why); });  // it may run, whatever it reads
  }
  if (why) answer_early(held, slot, *std::move(why));
}

void reactor::screen_in_flight(const role& held) {
  walk(held);
  for (const std::uint16_t slot : walk_.in_flight()) {
    // A held request may have run; it is judged once that is known.
    const bool is_held =
        requests_.header(slot).held.load(std::memory_order_relaxed) == wire::hold::until_released;
    if (!is_held && records_[slot].in_flight()) screen(held, slot);
  }
}

bool reactor::poll(const role& held) {
  walk(held);
  bool progress = take_completions(held);
  while (deferred_ && take_completions(held))
    progress = true;
  while (taints_.take_invalidation())
    insist_on([&] { screen_in_flight(held); });
  answers_.give_back_freed();
  if (walk_.in_flight_count() == 0 && prompt_.load(std::memory_order_relaxed)) settle_prompt(held);
  return progress;
}

// No continuation waits any more, unless its request was sent since the walk. Acquire: if the flag
// was set for such a request, another walk finds it.
void reactor::settle_prompt(const role& held) {
  prompt_.exchange(false, std::memory_order_acq_rel);
  walk(held);
  if (walk_.in_flight_count() > 0) prompt_.store(true, std::memory_order_relaxed);
}

bool reactor::take_completions(const role& held) {
  deferred_ = false;
  if (walk_.segment() == nullptr) return false;
  lane_walk::lane_ends ends;
  walk_.read_marks(ends);
  if (walk_.has_doubtful()) [[unlikely]]
    screen_doubtful(held);
  if (ends.lanes == 0) return false;
  if (walk_.is_word_left()) [[unlikely]]
    return take_in_order(held, ends);
  bool progress = false;
  for (std::uint32_t left = ends.lanes; left != 0; left &= left - 1) {
    const auto number = static_cast<std::size_t>(__builtin_ctz(left));
    // Compared again each time: an answer may send, and so poll recursively.
    while (walk_.has_ended(ends, number)) {
      if (!take_first(number, ends.of[number].replied)) break;
      progress = true;
    }
  }
  return progress;
}

// Ends the first request of a lane. False if another request must end before it.
inline bool reactor::take_first(std::size_t number, std::uint64_t replied) {
  const std::uint16_t next = walk_.first_of(number);
  const record& r = records_[next];
  if (r.watched && taints_.must_wait(next)) [[unlikely]] {
    deferred_ = true;
    return false;
  }
  const std::uint64_t place = walk_.take_first(number, r);
  answers_.finish(next, replied >= place);
  return true;
}

// After a failure, requests of all lanes end in the order sent: a later request may have
// overwritten what the failure left undefined, and another may have read it in between.
bool reactor::take_in_order(const role& held, lane_walk::lane_ends& ends) {
  walk_.add_earlier(ends);
  if (walk_.has_doubtful()) screen_doubtful(held);
  bool progress = false;
  for (std::uint32_t left = ends.lanes; left != 0;) {
    std::size_t first = 0;
    std::uint64_t least = ~std::uint64_t{0};
    for (std::uint32_t one = left; one != 0; one &= one - 1) {
      const auto number = static_cast<std::size_t>(__builtin_ctz(one));
      if (!walk_.has_ended(ends, number)) {
        left &= ~(1u << number);
        continue;
      }
      const std::uint64_t ticket = records_[walk_.first_of(number)].ticket;
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

void reactor::drop_answered(const role& held) {
  for (const std::uint16_t slot : walk_.in_flight()) {
    const wire::hold hold = requests_.header(slot).held.load(std::memory_order_relaxed);
    if (records_[slot].answered() && hold == wire::hold::none) drop(held, slot, {});
  }
}

}  // namespace troupe
