#include "core/actor/actor_cell.hpp"

#include "base/spin_wait.hpp"
#include "core/ambient.hpp"
#include "core/system_core.hpp"

#include <fmt/format.h>
#include <sched.h>

namespace troupe::detail {
namespace {

actor_id next_id() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return actor_id{last.fetch_add(1, std::memory_order_relaxed) + 1};
}

std::string name_of(actor_cell* parent, spawn_options& options) {
  if (parent == nullptr) return "";
  const std::uint64_t number = parent->next_child_number();
  return options.name.empty() ? std::to_string(number) : std::move(options.name);
}

}  // namespace

turn_scope::turn_scope(actor_cell& cell) noexcept
    : outer_(std::exchange(ambient, {.cell = &cell, .timers = &cell.core().timers()})) {}

turn_scope::~turn_scope() { ambient = outer_; }

// Options are passed by value at every step of a spawn, so that each may move them.
// NOLINTBEGIN(performance-unnecessary-value-param)
actor_cell::actor_cell(std::shared_ptr<system_core> core, actor_cell* parent, actor_factory make,
                       spawn_options options, actor_traits traits)
    // NOLINTEND(performance-unnecessary-value-param)
    : dispatcher_(core->dispatcher_for(options)),
      mailbox_(options.mailbox),
      core_(std::move(core)),
      parent_(parent),
      id_(next_id()),
      name_(name_of(parent, options)),
      type_(traits.type),
      reentrant_(traits.reentrant),
      is_reported_elsewhere_(traits.is_reported_elsewhere),
      stash_capacity_(options.stash_capacity),
      make_(std::move(make)) {
  if (parent_ != nullptr) parent_->retain_cell();
}

actor_cell::~actor_cell() = default;

std::string actor_cell::path() const {
  std::vector<const actor_cell*> line;
  for (const actor_cell* one = this; one->parent_ != nullptr; one = one->parent_)
    line.push_back(one);
  std::string text;
  for (; !line.empty(); line.pop_back())
    text.append("/").append(line.back()->name_);
  return text;
}

void actor_cell::retain_cell() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }

void actor_cell::release_cell() noexcept {
  // acq_rel: the last owner destroys what the others wrote. A loop, because a leaf may hold the
  // last reference to all its ancestors, however deep the tree is.
  actor_cell* last = this;
  while (last != nullptr && last->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    actor_cell* const parent = last->parent_;
    delete last;
    last = parent;
  }
}

error actor_cell::stopped_error() const {
  return error{.code = errc::actor_stopped,
               .message = fmt::format("the actor {} has stopped", path()),
               .cause = as_cause(reason_)};
}

void actor_cell::refuse(message& m, errc reason) noexcept {
  if (m.bytes != 0) core_->dead(m.type->name, *this, reason);  // but not for the runtime's messages
  m.type->refuse(m, reason == errc::actor_stopped ? stopped_error() : full_error());
}

error actor_cell::full_error() const {
  return error{.code = errc::mailbox_full,
               .message = fmt::format("the mailbox of {} is full", path())};
}

bool actor_cell::post_message(message& m) noexcept {
  if (dead()) {
    refuse(m, errc::actor_stopped);
    return false;
  }
  mailbox::push_outcome outcome = mailbox_.push(m);
  while (!outcome.accepted) [[unlikely]] {
    // An actor that waits for space in its own mailbox would wait for ever.
    const bool waits = mailbox_.options().when_full == overflow::wait && ambient.cell != this &&
                       mailbox_.could_ever_hold(m);
    // It may also have stopped while the sender waited. Actors that wait for each other in a circle
    // wait until their system is told to end.
    const bool ends = core_->is_forced();
    if (!waits || ends || !dispatcher_->await_capacity(*this, m) || dead()) {
      refuse(m, ends || dead() ? errc::actor_stopped : errc::mailbox_full);
      return false;
    }
    outcome = mailbox_.push(m);
  }
  while (outcome.dropped != nullptr) {
    message& dropped = *outcome.dropped;
    outcome.dropped = dropped.next.load(std::memory_order_relaxed);
    refuse(dropped, errc::mailbox_full);
  }
  wake(false);
  return true;
}

void actor_cell::post(turn_work& work) noexcept {
  // Once the work is pushed, a running turn may do it, and it may drop the reference that kept the
  // cell: a child's last report lets its parent end, a resumed coroutine releases its actor.
  const any_actor_ref keep(*this);
  work.next = work_.load(std::memory_order_relaxed);
  while (!work_.compare_exchange_weak(work.next, &work, std::memory_order_seq_cst,
                                      std::memory_order_relaxed)) {
  }
  wake(true);
}

void actor_cell::post_call(unique_function<void(actor_cell&)> call) {
  struct call_work final : turn_work {
    call_work(unique_function<void(actor_cell&)> c, actor_cell& t)
        : call(std::move(c)), target(&t) {
      run = [](turn_work& self) noexcept {
        auto& me = static_cast<call_work&>(self);
        me.call(*me.target);
        drop_pooled(&me);
      };
    }
    unique_function<void(actor_cell&)> call;
    actor_cell* target;
  };
  post(*make_pooled<call_work>(std::move(call), *this));
}

void actor_cell::wake(bool for_work) noexcept {
  std::uint32_t s = state_.load(std::memory_order_seq_cst);
  for (;;) {
    const std::uint32_t doing = s & activity_mask;
    if (doing != idle && (doing != blocked || !for_work)) return;
    const bool is_dead = (s & dead_bit) != 0;
    const std::uint32_t rest = s & ~activity_mask;
    const std::uint32_t next = is_dead ? (rest | running) : (rest | scheduled | queued_bit);
    if (!state_.compare_exchange_weak(s, next, std::memory_order_seq_cst)) continue;
    if (is_dead) {
      run(turn_limits{.messages = INT32_MAX});
    } else if ((s & queued_bit) == 0) {
      dispatcher_->enqueue(*this);
    }
    return;
  }
}

bool actor_cell::claim_scheduled() noexcept {
  std::uint32_t s = state_.load(std::memory_order_relaxed);
  while ((s & activity_mask) == scheduled) {
    const std::uint32_t next = (s & ~activity_mask) | running;
    if (state_.compare_exchange_weak(s, next, std::memory_order_seq_cst)) return true;
  }
  return false;
}

bool actor_cell::claim_ticket() noexcept {
  std::uint32_t s = state_.load(std::memory_order_relaxed);
  for (;;) {
    const bool ours = (s & activity_mask) == scheduled;
    std::uint32_t next = s & ~queued_bit;
    if (ours) next = (next & ~activity_mask) | running;
    if (!state_.compare_exchange_weak(s, next, std::memory_order_seq_cst)) continue;
    // A ticket that outlived its actor holds a reference; see finish_stop.
    if ((s & dead_bit) != 0) release_cell();
    return ours;
  }
}

bool actor_cell::takes_messages() const noexcept {
  if (phase_ == phase::active) return !draining_ && (tasks_ == nullptr || reentrant_);
  return phase_ == phase::stopped;  // to refuse them
}

void actor_cell::run_work() noexcept {
  turn_work* newest = work_.exchange(nullptr, std::memory_order_acquire);
  turn_work* oldest = nullptr;
  while (newest != nullptr) {
    turn_work* next = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = next;
  }
  while (oldest != nullptr) {
    turn_work& w = *oldest;
    oldest = w.next;
    w.run(w);
  }
}

void actor_cell::handle(message& m) noexcept {
  if (phase_ == phase::stopped) {
    refuse(m, errc::actor_stopped);
    return;
  }
  answered_last_ = m.type->give_up != nullptr;
  context_ = std::move(m.context);
  if (auto failed = m.type->deliver(m, *actor_, *this)) fail(std::move(failed));
  context_.reset();
}

std::int32_t actor_cell::run(turn_limits limits) noexcept {
  // Once the turn has ended another thread may stop the actor and drop it.
  const any_actor_ref keep(*this);
  const turn_scope scope(*this);
  std::int32_t left = limits.messages;
  std::int32_t handled = 0;
  int in_vain = 0;
  do {
    // A sender is between its two steps of pushing; if that lasts, it has lost its processor.
    if (++in_vain > 16) ::sched_yield();
    for (;;) {
      // All of it, including its consequences: an actor that stops itself handles nothing more.
      while (work_.load(std::memory_order_relaxed) != nullptr)
        run_work();
      if (left == 0 || !takes_messages()) break;
      message* m = mailbox_.pop();
      if (m == nullptr) break;
      --left;
      ++handled;
      in_vain = 0;
      handle(*m);
      if (limits.until != nullptr && limits.until->ready()) {
        left = 0;
        break;
      }
    }
    mailbox_.publish_capacity();
    if (sends_waiting_.load(std::memory_order_relaxed) != 0) admit_sends();
    // The budget protects others; if there are none the turn continues.
    const bool alone = limits.others_ready != nullptr && !limits.others_ready();
    if (left == 0 && alone && limits.until == nullptr) left = limits.messages;
    // A stopped actor gets no further turn: nothing keeps it alive for one.
    if (phase_ == phase::stopped) left = std::max(left, 1);
  } while (!pause_turn(limits, left == 0));
  return handled;
}

bool actor_cell::has_something() const noexcept {
  return work_.load(std::memory_order_seq_cst) != nullptr ||
         (takes_messages() && !mailbox_.empty());
}

bool actor_cell::linger(const turn_limits& limits) noexcept {
  // About two microseconds: a busy sender's next message then costs no scheduling.
  constexpr int pauses = 40;
  if (limits.others_ready == nullptr || phase_ != phase::active) return false;
  // A thread that asks and waits runs an idle actor itself, before this thread sees the message.
  if (answered_last_) return false;
  for (int i = 0; i < pauses; ++i) {
    if (has_something()) return true;
    if (limits.others_ready()) return false;
    pause_cpu();
  }
  return false;
}

bool actor_cell::pause_turn(const turn_limits& limits, bool spent) noexcept {
  const bool stays = has_something() || (!spent && linger(limits));
  if (stays && !spent) return false;
  const bool open = takes_messages();
  const std::uint32_t doing = stays ? (scheduled | queued_bit) : (open ? idle : blocked);
  std::uint32_t s = state_.load(std::memory_order_relaxed);
  while (
      !state_.compare_exchange_weak(s, (s & ~activity_mask) | doing, std::memory_order_seq_cst)) {
  }
  // From here on others may run the actor: only atomics may be read.
  if (stays) {
    if ((s & queued_bit) == 0) dispatcher_->enqueue(*this);
    return true;
  }
  if (work_.load(std::memory_order_seq_cst) != nullptr) {
    wake(true);
  } else if (open && mailbox_.arrived()) {
    wake(false);
  }
  return true;
}

// Messages still in the mailbox are answered in a later turn, which cannot come while this one
// waits. Handled ones may be answered by any thread. Separate from `drive_until`, which every
// waiting ask calls, and which then saves no registers.
[[gnu::noinline]] void actor_cell::drive_own(const future_state_base& awaited,
                                             future_state_base::time_point deadline) noexcept {
  if (ambient.cell == this && deadline == future_state_base::time_point::max()) {
    const error why{.code = errc::no_reply,
                    .message = fmt::format("the actor {} waits in its own turn for a reply that "
                                           "it can give only in a later turn",
                                           path())};
    if (mailbox_.give_up(awaited, why) || give_up_own_end(awaited, why)) return;
  }
  dispatcher_->help(*this, awaited, deadline);
}

void actor_cell::drive_until(const future_state_base& state,
                             future_state_base::time_point deadline) noexcept {
  const bool in_a_turn = (state_.load(std::memory_order_relaxed) & activity_mask) == running;
  if (in_a_turn) return drive_own(state, deadline);
  dispatcher_->help(*this, state, deadline);
}

}  // namespace troupe::detail
