#include "actor_model.hpp"

#include "actor_model_parts.hpp"

namespace troupe::model {

reference::reference(const scenario& s) : s_(s), draw_(s.seed), latest_(s.kinds.size(), nullptr) {
  root_kind_.looks_after = s.root;
  root_kind_.decider = s.root_decider;
  person& root = people_.emplace_back();
  root.kind = &root_kind_;
  order(root, [this, &root] { start(root); });
  run_until_idle();
}

trace reference::run() {
  for (std::size_t i = 0; i < s_.actions.size(); ++i) {
    emit({.what = event_kind::action, .a = static_cast<std::int32_t>(i)});
    act(s_.actions[i]);
  }
  emit({.what = event_kind::action, .a = -1});
  shut_down();
  advance(last_timeout + last_timeout);
  return std::move(events_);
}

void reference::emit(event e) {
  e.at = now_;
  events_.push_back(e);
}

// Actions from outside. -------------------------------------------------------------------------

void reference::act(const action& a) {
  person* target = latest_[static_cast<std::size_t>(a.kind)];
  switch (a.what) {
    case action_kind::spawn:
      spawn(root(), a.kind);
      return;
    case action_kind::tell:
      if (target != nullptr) tell(*target, a.script, nullptr);
      return;
    case action_kind::ask:
      if (target != nullptr) ask(*target, a.script, a.time, a.number, nullptr);
      return;
    case action_kind::stop:
      if (target != nullptr) tell_to_stop(*target);
      return;
    case action_kind::stop_after_mailbox:
      if (target != nullptr) stop_after_mailbox(*target);
      return;
    case action_kind::await_end:
      if (target != nullptr) await_end(*target);
      return;
    case action_kind::cancel_asks:
      cancel_asks(static_cast<std::size_t>(a.number));
      return;
    case action_kind::open_gate:
      open_gate(static_cast<std::size_t>(a.number), a.script);
      return;
    case action_kind::take_turns:
      for (std::int32_t n = 0; n < a.number && turn_of_somebody(); ++n) {
      }
      return;
    case action_kind::run_until_idle:
      run_until_idle();
      return;
    case action_kind::ring:
      ring_next(now_ + a.time);
      return;
    case action_kind::advance:
      advance(a.time);
      return;
    case action_kind::shut_down:
      shut_down();
      return;
  }
}

void reference::run_until_idle() {
  while (turn_of_somebody()) {
  }
}

void reference::advance(nanoseconds by) {
  const nanoseconds end = now_ + by;
  run_until_idle();
  while (ring_next(end))
    run_until_idle();
  now_ = end;
}

// Everybody gets the time to handle what is in the mailbox; then all stop.
void reference::shut_down() {
  if (root().is == being::stopped) {
    emit({.what = event_kind::shut_down});
    return;
  }
  ++waiting_for_the_end_;
  if (std::exchange(shutting_down_, true)) return;
  timeout_ = add_alarm(now_ + last_timeout, [this] {
    order(root(), [this] { stop(root(), std::nullopt, false); });
    for (; waiting_for_the_end_ > 0; --waiting_for_the_end_)
      emit({.what = event_kind::shut_down, .b = code_of(errc::timed_out)});
  });
  const std::shared_ptr<void> all(nullptr, [this](void*) { stop_after_mailbox(root()); });
  post(root(), {.what = letter::sort::settle, .settling = all}, nullptr);
}

// The clock. -------------------------------------------------------------------------------------

std::uint64_t reference::add_alarm(nanoseconds when, std::function<void()> ring) {
  alarms_.emplace(std::pair(when, ++last_alarm_), std::move(ring));
  return last_alarm_;
}

void reference::cancel_alarm(std::uint64_t number) {
  std::erase_if(alarms_, [&](const auto& one) { return one.first.second == number; });
}

bool reference::ring_next(nanoseconds limit) {
  if (alarms_.empty() || alarms_.begin()->first.first > limit) return false;
  auto first = alarms_.extract(alarms_.begin());
  now_ = std::max(now_, first.key().first);
  first.mapped()();
  return true;
}

// Turns. -----------------------------------------------------------------------------------------

bool reference::turn_of_somebody() {
  std::vector<person*> ready;
  for (person& p : people_) {
    if (!p.in_turn && p.has_something()) ready.push_back(&p);
  }
  if (ready.empty()) return false;
  person& p = *ready[draw_.below(ready.size())];
  emit({.what = event_kind::turn, .a = p.number, .b = static_cast<std::int32_t>(ready.size())});
  p.in_turn = true;
  obey(p);
  if (p.has_a_message()) {
    std::deque<letter>& from = p.front.empty() ? p.mailbox : p.front;
    letter m = std::move(from.front());
    from.pop_front();
    handle(p, std::move(m));
    obey(p);
  }
  p.in_turn = false;
  return true;
}

void reference::obey(person& p) {
  while (!p.orders.empty()) {
    const auto one = std::move(p.orders.front());
    p.orders.pop_front();
    one();
  }
}

void reference::order(person& p, std::function<void()> what) {
  if (p.is != being::stopped) p.orders.push_back(std::move(what));
}

trace run_model(const scenario& s) { return reference(s).run(); }

}  // namespace troupe::model
