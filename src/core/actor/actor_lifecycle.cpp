#include "core/actor/actor_cell.hpp"
#include "core/ambient.hpp"
#include "core/system_core.hpp"

#include <algorithm>
#include <utility>

// From the first incarnation to the last: starting, restarting, stopping.
namespace troupe::detail {
namespace {

struct last_message final : message {
  last_message() noexcept : message(type_of) {}

  static std::unique_ptr<error> deliver(message& self, actor&, actor_cell& cell) {
    drop_pooled(&static_cast<last_message&>(self));
    cell.drain_and_stop();
    return nullptr;
  }
  static void refuse(message& self, const error&) noexcept {
    drop_pooled(&static_cast<last_message&>(self));
  }
  static constexpr message_type type_of{"stop_after_mailbox", &deliver, &refuse};
};

}  // namespace

bool actor_cell::make_incarnation(const error* restarted_for) {
  if (restarted_for != nullptr) restarts_.fetch_add(1, std::memory_order_relaxed);
  try {
    actor_ = make_();
    supervision_ = actor_->supervise();
    if (restarted_for != nullptr) {
      actor_->post_restart(*restarted_for);
    } else {
      actor_->pre_start();
    }
  } catch (...) {
    // An actor that failed to start cannot resume: `fail` leaves it without an incarnation.
    auto why = std::make_shared<const error>(current_exception_error());
    reason_ = why;
    destroy_incarnation();
    fail(std::move(why));
    return false;
  }
  phase_ = phase::active;
  stop_if_drained();  // it failed in the last coroutine that the stop waited for
  return true;
}

void actor_cell::begin() {
  post_call([](actor_cell& c) { c.start(); });
}

void actor_cell::start() {
  if (phase_ == phase::starting) make_incarnation(nullptr);
}

// Its parent takes no children any more and so keeps none alive: it must not wait for a turn. The
// actor is not shared yet.
void actor_cell::never_start() noexcept {
  phase_ = phase::stopped;
  make_ = {};
  ended_ = true;
  dispatcher_->cell_stopped();
  state_.store(idle | dead_bit, std::memory_order_seq_cst);
}

void actor_cell::resume() {
  if (phase_ != phase::failed) return;
  // Resumed with a parent that escalated, but without an incarnation.
  if (actor_ == nullptr) return begin_stop(std::exchange(reason_, nullptr), false);
  phase_ = phase::active;
  reason_.reset();
  for (const any_actor_ref& waiting : std::exchange(escalated_, {})) {
    waiting.cell().post_call([](actor_cell& c) { c.resume(); });
  }
  stop_if_drained();
}

void actor_cell::begin_restart(failure_reason reason) {
  if (phase_ == phase::active || phase_ == phase::failed) end_incarnation(std::move(reason));
}

void actor_cell::end_incarnation(failure_reason reason) {
  phase_ = phase::restarting;
  reason_ = std::move(reason);
  abandon_tasks(*reason_);
  cancel_timers();
  unstash_all();
  escalated_.clear();
  // The next incarnation has children of its own, without failures yet.
  siblings_.reset();
  group_restarts_ = {};
  cancel_backoff(backoff_);
  if (stop_children(false)) finish_end();
}

void actor_cell::finish_end() {
  if (actor_ != nullptr) actor_->pre_restart(*reason_);
  destroy_incarnation();
  {
    const std::lock_guard lock(tree_mutex_);
    childless_ = false;
  }
  if (!asked_to_end_) return begin_anew();
  phase_ = phase::between;
  parent_->post_call([step = *std::exchange(asked_to_end_, std::nullopt)](actor_cell& parent) {
    parent.sibling_step_done(step);
  });
}

// Messages that are dropped with it get this reason.
void actor_cell::destroy_incarnation() noexcept {
  ambient.ending = &reason_;
  actor_.reset();
  ambient.ending = nullptr;
}

void actor_cell::begin_anew() {
  phase_ = phase::restarting;
  const failure_reason reason = std::exchange(reason_, nullptr);
  make_incarnation(reason.get());  // no reason: it was ended before it had started
}

void actor_cell::stop_now() noexcept {
  post_call([](actor_cell& c) { c.begin_stop(nullptr, false); });
}

void actor_cell::stop_after_mailbox() noexcept {
  // Behind the current messages; an actor that failed handles it once it is restarted.
  auto* m = make_pooled<last_message>();
  if (dead()) {
    drop_pooled(m);
    return;
  }
  mailbox_.push(*m);
  wake(false);
}

void actor_cell::drain_and_stop() {
  draining_ = true;
  stop_if_drained();
}

void actor_cell::stop_if_drained() {
  if (draining_ && tasks_ == nullptr && phase_ == phase::active) begin_stop(nullptr, true);
}

void actor_cell::begin_stop(failure_reason reason, bool drain) {
  if (phase_ == phase::stopped) return;
  const bool first = phase_ != phase::stopping;
  if (first) {
    phase_ = phase::stopping;
    reason_ = std::move(reason);
    if (tasks_ != nullptr) abandon_tasks(stopped_error());
    cancel_timers();
    escalated_.clear();
  } else if (drain) {
    return;
  }
  // A second call without draining hurries the children that still drain.
  if (stop_children(drain)) finish_stop();
}

bool actor_cell::stop_children(bool drain) {
  const std::lock_guard lock(tree_mutex_);
  childless_ = true;
  for (auto it = children_.rbegin(); it != children_.rend(); ++it) {
    if (drain) {
      it->ref.cell().stop_after_mailbox();
    } else {
      it->ref.cell().stop_now();
    }
  }
  return children_.empty();
}

void actor_cell::finish_stop() noexcept {
  if (actor_ != nullptr) actor_->post_stop();
  destroy_incarnation();
  make_ = {};
  end_watches();
  cancel_backoff(backoff_);
  phase_ = phase::stopped;
  // A ticket in a dispatcher's queue may outlive the actor: give it a reference of its own.
  retain_cell();
  if ((state_.fetch_or(dead_bit, std::memory_order_seq_cst) & queued_bit) == 0) release_cell();
  for (message* m : std::exchange(stash_, {}))
    m->type->refuse(*m, stopped_error());
  while (!mailbox_.empty()) {
    if (message* m = mailbox_.pop()) refuse(*m, errc::actor_stopped);
  }
  mailbox_.wake_waiters();
  admit_sends();
  settling_.reset();
  tell_audience();
  dispatcher_->cell_stopped();
  if (parent_ == nullptr) {
    core_->root_stopped();
  } else {
    parent_->post_call(
        [gone = any_actor_ref(*this)](actor_cell& parent) { parent.child_stopped(gone.cell()); });
  }
}

void actor_cell::child_stopped(actor_cell& gone) {
  cancel_backoff(gone.place_->backoff);
  sibling_gone(*gone.place_);
  bool none_left = false;
  {
    const std::lock_guard lock(tree_mutex_);
    children_.erase(gone.place_);
    none_left = children_.empty();
  }
  if (!none_left) return;
  // A new incarnation, which has children of its own, may drain and stop at once.
  if (phase_ == phase::restarting) return finish_end();
  if (phase_ == phase::stopping) finish_stop();
}

void actor_cell::adopt(turn_task& begun) noexcept {
  begun.next = tasks_;
  if (tasks_ != nullptr) tasks_->previous = &begun;
  tasks_ = &begun;
}

void actor_cell::finish(turn_task& ended, std::unique_ptr<error> failed) noexcept {
  if (ended.next != nullptr) ended.next->previous = ended.previous;
  (ended.previous == nullptr ? tasks_ : ended.previous->next) = ended.next;
  if (failed) {
    fail(std::move(failed));
  } else if (draining_) {
    post_call([](actor_cell& c) { c.stop_if_drained(); });  // when the coroutine has been destroyed
  }
}

void actor_cell::abandon_tasks(const error& reason) noexcept {
  ambient.ending = &reason_;
  while (tasks_ != nullptr) {
    turn_task& task = *tasks_;
    tasks_ = task.next;
    if (tasks_ != nullptr) tasks_->previous = nullptr;
    task.abandon(task, reason);
  }
  ambient.ending = nullptr;
}

bool actor_cell::put_aside(message& m) noexcept {
  if (static_cast<std::int64_t>(stash_.size()) >= stash_capacity_) {
    m.type->refuse(m, error{.code = errc::mailbox_full, .message = "the stash is full"});
    return false;
  }
  stash_.push_back(&m);
  return true;
}

void actor_cell::unstash_all() noexcept {
  for (; !stash_.empty(); stash_.pop_back())
    mailbox_.push_front(*stash_.back());
}

std::shared_ptr<timer_state> actor_cell::new_timer() {
  // Remove expired timers when the vector is full: constant cost for each.
  if (timers_.size() == timers_.capacity()) {
    std::erase_if(timers_, [](const auto& t) { return t->cancelled.load() || t.use_count() == 1; });
    timers_.reserve(2 * timers_.size());
  }
  return timers_.emplace_back(std::make_shared<timer_state>(core_->timers()));
}

void actor_cell::cancel_timers() noexcept {
  for (const auto& t : std::exchange(timers_, {}))
    t->cancel();
}

}  // namespace troupe::detail
