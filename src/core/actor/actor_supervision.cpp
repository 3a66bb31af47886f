#include "core/actor/actor_cell.hpp"
#include "core/actor/backoff.hpp"
#include "core/system_core.hpp"

#include <troupe/core/log.hpp>
#include <troupe/core/supervision.hpp>

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <utility>

namespace troupe {

directive default_decider(const error& e) noexcept {
  switch (e.code) {
    case errc::out_of_memory:
      return directive::resume;
    case errc::poisonous:
    case errc::device_stopped:
    case errc::device_unavailable:
    case errc::device_condemned:
    case errc::worker_not_found:
    case errc::version_mismatch:
    case errc::library_missing:
      return directive::stop;
    case errc::invalid_argument:
    case errc::shape_mismatch:
    case errc::type_mismatch:
    case errc::layout_unsupported:
    case errc::aliasing:
    case errc::size_overflow:
    case errc::unsupported:
    case errc::stale_buffer:
    case errc::tainted_buffer:
    case errc::frozen_buffer:
    case errc::foreign_buffer:
    case errc::capacity_exceeded:
    case errc::mailbox_full:
    case errc::cancelled:
    case errc::timed_out:
    case errc::deadline_exceeded:
    case errc::no_reply:
    case errc::actor_stopped:
    case errc::handler_failed:
    case errc::device_fault:
    case errc::aborted:
    case errc::protocol_violation:
    case errc::library_error:
    case errc::numerical:
    case errc::system_error:
      return directive::restart;
  }
  return directive::restart;
}

namespace detail {

void actor_cell::fail(failure_reason e) {
  if (phase_ != phase::active && phase_ != phase::starting && phase_ != phase::restarting) return;
  phase_ = phase::failed;
  reason_ = e;
  if (parent_ == nullptr) return begin_stop(std::move(e), false);
  parent_->post_call([me = any_actor_ref(*this), e = std::move(e),
                      resumable = actor_ != nullptr](actor_cell& parent) mutable {
    parent.child_failed(me.cell(), std::move(e), resumable);
  });
}

actor_cell::verdict actor_cell::decide(const error& e) const {
  const bool by_default =
      supervision_.decider == nullptr || supervision_.decider == &default_decider;
  const directive d = by_default ? default_decider(e) : supervision_.decider(e);
  if (parent_ != nullptr || d != directive::escalate) return {d, by_default};
  const auto hook = core_->config().on_escalation;
  if (hook == nullptr) return {directive::stop, true};
  const directive last = hook(e);
  return {last == directive::escalate ? directive::stop : last};
}

// Reports a decision that the program has not made itself, once.
void actor_cell::report(const actor_cell& failed, const error& e, const verdict& v) const noexcept {
  if (failed.is_reported_elsewhere_ || (!v.by_default && !v.budget_spent)) return;
  std::string event = "failed, and is restarted";
  if (v.what == directive::resume) event = "failed, and goes on";
  if (v.what == directive::stop) event = "failed, and is stopped";
  if (v.budget_spent) {
    event += fmt::format(": its {} restarts within {:g} s are spent", supervision_.budget.restarts,
                         std::chrono::duration<double>(supervision_.budget.window).count());
  }
  write_log(core_->config().log,
            {.level = v.what == directive::stop ? log_level::error : log_level::warning,
             .source = failed.path(),
             .event = event,
             .reason = e});
}

void actor_cell::post_after_backoff(timer_id& alarm, const any_actor_ref& who, std::size_t nth,
                                    unique_function<void(actor_cell&)> call) {
  const auto wait =
      wait_before(supervision_.backoff, static_cast<std::int64_t>(nth), core_->jitter());
  if (wait.count() == 0) return who.cell().post_call(std::move(call));
  cancel_backoff(alarm);
  alarm = core_->timers()->add(
      detail::deadline_after(core_->timers()->now(), wait),
      [who, call = std::move(call)]() mutable { who.cell().post_call(std::move(call)); });
}

// An alarm that has already rung needs no cancelling.
void actor_cell::cancel_backoff(timer_id& alarm) noexcept {
  const timer_id last = std::exchange(alarm, timer_id{});
  if (last != timer_id{}) core_->timers()->cancel(last);
}

void actor_cell::child_failed(actor_cell& failed, failure_reason e, bool resumable) {
  // Otherwise all children stop anyway; while we stop they may still handle their mailboxes.
  if (phase_ != phase::active && phase_ != phase::failed && phase_ != phase::stopping) return;
  const auto at = failed.place_;
  if (ends_anyway(*at)) return;
  verdict v = decide(*e);
  // A child that failed to start has no state to resume with.
  if (v.what == directive::resume && !resumable) v.what = directive::restart;
  if (v.what == directive::escalate && phase_ == phase::stopping) {
    // No supervisor above can resume us; the others still handle their mailboxes.
    return failed.post_call([e = std::move(e)](actor_cell& c) { c.begin_stop(e, false); });
  }
  std::vector<any_actor_ref> concerned;
  std::size_t nth = 0;
  {
    const std::lock_guard lock(tree_mutex_);
    if (v.what == directive::restart) {
      auto& history =
          supervision_.strategy == strategy::one_for_one ? at->restarts : group_restarts_;
      v.budget_spent = !history.admit(core_->timers()->now(), supervision_.budget);
      if (v.budget_spent) v.what = directive::stop;
      nth = history.count();
    }
    auto first = at;
    auto last = std::next(at);
    if (supervision_.strategy != strategy::one_for_one) last = children_.end();
    if (supervision_.strategy == strategy::one_for_all) first = children_.begin();
    for (auto it = first; it != last; ++it)
      concerned.push_back(it->ref);
  }
  report(failed, *e, v);
  switch (v.what) {
    case directive::resume:
      failed.post_call([](actor_cell& c) { c.resume(); });
      return;
    case directive::escalate:
      escalated_.emplace_back(failed);
      fail(std::move(e));
      return;
    case directive::stop:
      for (auto it = concerned.rbegin(); it != concerned.rend(); ++it) {
        it->cell().post_call([e](actor_cell& c) { c.begin_stop(e, false); });
      }
      return;
    case directive::restart:
      if (supervision_.strategy != strategy::one_for_one) {
        return restart_siblings(std::move(concerned), std::move(e), nth);
      }
      post_after_backoff(
          at->backoff, any_actor_ref(failed), nth,
          [e = std::move(e)](actor_cell& c) mutable { c.begin_restart(std::move(e)); });
      return;
  }
}

any_actor_ref actor_cell::add_child(actor_factory make, spawn_options options,
                                    actor_traits traits) {
  auto* cell = new actor_cell(core_, this, std::move(make), std::move(options), traits);
  any_actor_ref ref(*cell);
  cell->release_cell();  // the initial reference
  bool orphan = false;
  {
    const std::lock_guard lock(tree_mutex_);
    orphan = childless_;
    if (!orphan) cell->place_ = children_.insert(children_.end(), child{.ref = ref});
  }
  if (orphan) {
    cell->never_start();
  } else {
    cell->begin();
  }
  return ref;
}

}  // namespace detail
}  // namespace troupe
