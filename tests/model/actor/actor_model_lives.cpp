#include "actor_model_parts.hpp"

#include <algorithm>

namespace troupe::model {

// Lives. -----------------------------------------------------------------------------------------

void reference::spawn(person& parent, std::int32_t kind) {
  if (people_.size() > scenario::most_actors) return;
  person& p = people_.emplace_back();
  p.number = static_cast<std::int32_t>(people_.size()) - 1;
  p.parent = &parent;
  p.kind = &s_.kinds[static_cast<std::size_t>(kind)];
  latest_[static_cast<std::size_t>(kind)] = &p;
  emit({.what = event_kind::spawned, .a = p.number, .b = parent.number, .c = kind});
  if (!parent.takes_children) {
    p.is = being::stopped;
    return;
  }
  parent.children.push_back({&p, {}});
  order(p, [this, &p] { start(p); });
}

void reference::start(person& p) {
  if (p.is == being::starting) begin(p, std::nullopt);
}

void reference::begin(person& p, const maybe_failure& restarted_for) {
  p.is = being::starting;
  ++p.incarnation;
  p.handled = 0;
  const bool fails = p.parent != nullptr && p.incarnation <= 32 &&
                     (p.kind->failing_starts >> (p.incarnation - 1) & 1) != 0;
  if (!fails || !p.kind->fails_in_constructor) {
    p.alive = true;
    if (p.parent != nullptr) {
      emit({.what = event_kind::started,
            .a = p.number,
            .b = p.incarnation,
            .c = number_of(restarted_for)});
      for (const std::int32_t kind : p.kind->children)
        spawn(p, kind);
      for (const std::int32_t kind : p.kind->watches) {
        if (person* other = latest_[static_cast<std::size_t>(kind)]) watch(p, *other);
      }
      if (p.kind->stops_at_start) tell_to_stop(p);
    }
  }
  if (!fails) {
    p.is = being::active;
    drained(p);
    return;
  }
  p.alive = false;
  const failure_of f{++failures_, static_cast<std::size_t>(p.incarnation) % error_codes};
  emit({.what = event_kind::start_failed, .a = p.number, .b = p.incarnation, .c = f.number});
  fail(p, f);
}

// An incarnation ends before its successor begins, and after its children have.
void reference::end(person& p, const failure_of& why) {
  p.is = being::clearing;
  p.why = why;
  abandon_waits(p, code_of(codes[why.code]));
  cancel_timers(p);
  unstash(p);
  // The next incarnation looks after children of its own, and has forgiven all.
  p.escalated.clear();
  p.together.reset();
  p.group_restarts.clear();
  cancel_put_off(p, p);
  stop_children(p, false);
  if (p.children.empty()) has_ended(p);
}

void reference::has_ended(person& p) {
  if (std::exchange(p.alive, false)) {
    emit({.what = event_kind::ended, .a = p.number, .b = p.incarnation, .c = number_of(p.why)});
  }
  p.takes_children = true;
  if (!p.asked_to) return begin(p, std::exchange(p.why, std::nullopt));
  p.is = being::vacant;
  step_done(*p.parent, *std::exchange(p.asked_to, std::nullopt));
}

void reference::tell_to_stop(person& p) {
  order(p, [this, &p] { stop(p, std::nullopt, false); });
}

void reference::stop_after_mailbox(person& p) {
  if (p.is != being::stopped) post(p, {.what = letter::sort::last}, nullptr);
}

void reference::stop(person& p, const maybe_failure& why, bool drain) {
  if (p.is == being::stopped) return;
  if (p.is != being::stopping) {
    p.is = being::stopping;
    p.why = why;
    abandon_waits(p, code_of(errc::actor_stopped));
    cancel_timers(p);
    p.escalated.clear();
  } else if (drain) {
    return;
  }
  stop_children(p, drain);
  if (p.children.empty()) has_stopped(p);
}

void reference::stop_children(person& p, bool drain) {
  p.takes_children = false;
  for (auto c = p.children.rbegin(); c != p.children.rend(); ++c) {
    if (drain) {
      stop_after_mailbox(*c->who);
    } else {
      tell_to_stop(*c->who);
    }
  }
}

void reference::has_stopped(person& p) {
  if (std::exchange(p.alive, false) && p.parent != nullptr) {
    emit({.what = event_kind::stopped, .a = p.number, .b = p.incarnation});
  }
  p.is = being::stopped;
  p.orders.clear();
  cancel_put_off(p, p);
  for (const letter& m : std::exchange(p.aside, {}))
    refuse(p, m, errc::actor_stopped);
  for (auto* waiting : {&p.front, &p.mailbox}) {
    for (const letter& m : std::exchange(*waiting, {}))
      refuse(p, m, errc::actor_stopped);
  }
  p.settling.reset();
  for (const auto& [who, tell_of] : std::exchange(p.watchers, {}))
    tell_of(p.why);
  if (p.parent == nullptr) {
    cancel_alarm(timeout_);
    for (; waiting_for_the_end_ > 0; --waiting_for_the_end_)
      emit({.what = event_kind::shut_down});
    return;
  }
  order(*p.parent, [this, &p] { gone(*p.parent, p); });
}

void reference::gone(person& p, person& child) {
  std::erase_if(p.children, [&](const person::child& c) { return c.who == &child; });
  std::erase(p.escalated, &child);
  cancel_put_off(p, child);
  leave_group(p, child);
  if (!p.children.empty()) return;
  if (p.is == being::clearing) return has_ended(p);
  if (p.is == being::stopping) has_stopped(p);
}

}  // namespace troupe::model
