#include "actor_model_parts.hpp"

#include <algorithm>

namespace troupe::model {

// Messages. --------------------------------------------------------------------------------------

bool reference::post(person& to, letter m, const person* sender) {
  const mailbox_options& limits = to.kind->mailbox;
  const auto full = [&] {
    std::int64_t count = 1;
    std::int64_t bytes = m.bytes;
    for (const letter& one : to.mailbox) {
      if (one.bytes == 0) continue;
      ++count;
      bytes += one.bytes;
    }
    return count > limits.capacity || bytes > limits.capacity_bytes;
  };
  const bool could_ever_fit = limits.capacity > 0 && m.bytes <= limits.capacity_bytes;
  while (to.is != being::stopped && m.bytes != 0 && full()) {
    if (!could_ever_fit || limits.when_full == overflow::reject) break;
    if (limits.when_full == overflow::drop_oldest) {
      const auto oldest = std::ranges::find_if(to.mailbox, [](const letter& l) { return l.bytes; });
      dropped_.push_back(std::move(*oldest));
      to.mailbox.erase(oldest);
    } else if (sender == &to || !turn_of_somebody()) {
      break;
    }
  }
  if (to.is == being::stopped) {
    refuse(to, m, errc::actor_stopped);
    return false;
  }
  if (m.bytes != 0 && full()) {
    refuse(to, m, errc::mailbox_full);
    return false;
  }
  to.mailbox.push_back(std::move(m));
  // The last that was dropped is told first.
  for (; !dropped_.empty(); dropped_.pop_back())
    refuse(to, dropped_.back(), errc::mailbox_full);
  return true;
}

void reference::refuse(const person& to, const letter& m, errc why) {
  if (m.bytes != 0) emit({.what = event_kind::dead_letter, .a = to.number, .b = code_of(why)});
  answer(m, code_of(why), 0);
}

void reference::tell(person& to, std::int32_t script, const person* sender) {
  const std::int32_t number = ++messages_;
  const bool taken = post(to, message(number, script), sender);
  emit({.what = event_kind::sent, .a = number, .b = to.number, .c = taken ? 1 : 0});
}

letter reference::message(std::int32_t number, std::int32_t script) const {
  return {.number = number,
          .script = script,
          .bytes = s_.scripts[static_cast<std::size_t>(script)].bytes};
}

void reference::ask(person& to, std::int32_t script, nanoseconds timeout, std::int32_t token,
                    const person* sender) {
  const std::int32_t number = ++messages_;
  emit({.what = event_kind::asks, .a = number, .b = to.number});
  questions_[number].token = token;
  letter m = message(number, script);
  m.asked = true;
  post(to, std::move(m), sender);
  question& q = questions_[number];
  q.listening = true;
  if (token >= 0 && cancelled_[static_cast<std::size_t>(token)]) {
    end_question(number, code_of(errc::cancelled), 0);
  } else if (q.early) {
    end_question(number, q.early->first, q.early->second);
  }
  if (timeout.count() > 0 && !q.early) {
    q.alarm = add_alarm(now_ + timeout,
                        [this, number] { end_question(number, code_of(errc::timed_out), 0); });
  }
}

// The first outcome is the answer.
void reference::end_question(std::int32_t number, std::int32_t code, std::int32_t value) {
  question& q = questions_[number];
  if (std::exchange(q.answered, true)) return;
  emit({.what = event_kind::answered, .a = number, .b = code, .c = value});
}

void reference::answer(const letter& m, std::int32_t code, std::int32_t value) {
  if (!m.asked) return;
  question& q = questions_[m.number];
  if (!q.listening) {
    q.early = std::pair(code, value);
    return;
  }
  end_question(m.number, code, value);
  cancel_alarm(q.alarm);
}

void reference::cancel_asks(std::size_t token) {
  if (std::exchange(cancelled_[token], true)) return;
  for (const auto& [number, q] : questions_) {
    if (q.listening && q.token == static_cast<std::int32_t>(token)) {
      end_question(number, code_of(errc::cancelled), 0);
    }
  }
}

void reference::handle(person& p, letter m) {
  switch (m.what) {
    case letter::sort::last:
      p.draining = true;
      drained(p);
      return;
    case letter::sort::settle:
      return settle(p, std::move(m.settling));
    case letter::sort::notice:
      if (std::erase(p.watching, m.gone) > 0) {
        emit({.what = event_kind::told, .a = p.number, .b = m.gone, .c = number_of(m.why)});
      }
      return;
    case letter::sort::timer:
      m.timer->in_mailbox = false;
      if (m.timer->cancelled) return;
      break;
    case letter::sort::user:
      break;
  }
  emit({.what = event_kind::handles, .a = p.number, .b = m.number, .c = ++p.handled});
  const script& text = s_.scripts[static_cast<std::size_t>(m.script)];
  for (const step& one : text.steps) {
    if (one.what == step_kind::fail) {
      return fail_in(p, m, {++failures_, static_cast<std::size_t>(one.number)});
    }
    if (one.what == step_kind::stash) {
      if (m.put_aside || text.gate >= 0) continue;
      return put_aside(p, std::move(m));
    }
    take(p, one);
  }
  if (text.gate < 0) return answer(m, 0, p.handled);
  m.counted = count(p);
  p.waits.push_front(std::make_shared<person::wait>(person::wait{.m = std::move(m)}));
  waiting_[static_cast<std::size_t>(text.gate)].emplace_back(&p, p.waits.front());
}

void reference::fail_in(person& p, const letter& m, const failure_of& f) {
  emit({.what = event_kind::fails, .a = p.number, .b = m.number, .c = f.number});
  answer(m, code_of(codes[f.code]), 0);
  fail(p, f);
}

// A coroutine goes on in a turn of its own actor, unless that incarnation has ended.
void reference::open_gate(std::size_t number, std::int32_t code) {
  for (const auto& waiting : std::exchange(waiting_[number], {})) {
    maybe_failure f;
    if (code >= 0) f = failure_of{++failures_, static_cast<std::size_t>(code)};
    person& p = *waiting.first;
    order(p, [this, &p, wait = waiting.second, f] {
      if (wait->over) return;
      emit({.what = event_kind::resumes, .a = p.number, .b = wait->m.number});
      std::erase(p.waits, wait);
      const auto counted = std::move(wait->m.counted);
      if (f) return fail_in(p, wait->m, *f);
      answer(wait->m, 0, p.handled);
      order(p, [this, &p] { drained(p); });
    });
  }
}

void reference::abandon_waits(person& p, std::int32_t code) {
  for (const auto& wait : std::exchange(p.waits, {})) {
    wait->over = true;
    answer(wait->m, code, 0);
    wait->m.counted.reset();
  }
}

// It has handled all that it is to handle, unless it failed in that.
void reference::drained(person& p) {
  if (p.draining && p.waits.empty() && p.is == being::active) stop(p, std::nullopt, true);
}

// Once it has answered what has come by now, it is of no account to the shutdown.
void reference::settle(person& p, std::shared_ptr<void> all) {
  for (const person::child& one : p.children) {
    if (one.who->is == being::stopped) continue;
    post(*one.who, {.what = letter::sort::settle, .settling = all}, nullptr);
  }
  p.settles = true;
  if (p.unfinished[0] > 0) p.settling = std::move(all);
}

std::shared_ptr<void> reference::count(person& p) {
  const std::size_t late = p.settles ? 1 : 0;
  ++p.unfinished[late];
  return {nullptr, [&p, late](void*) {
            if (--p.unfinished[late] > 0 || late != 0 || !p.settles) return;
            order(p, [&p] { p.settling.reset(); });
          }};
}

void reference::put_aside(person& p, letter m) {
  m.what = letter::sort::user;
  m.put_aside = true;
  m.bytes = 0;
  if (static_cast<std::int64_t>(p.aside.size()) >= p.kind->stash_capacity) {
    return answer(m, code_of(errc::mailbox_full), 0);
  }
  if (m.asked) m.counted = count(p);
  p.aside.push_back(std::move(m));
}

void reference::unstash(person& p) {
  for (; !p.aside.empty(); p.aside.pop_back())
    p.front.push_front(std::move(p.aside.back()));
}

void reference::take(person& p, const step& one) {
  person* target = one.kind < 0 ? &p : latest_[static_cast<std::size_t>(one.kind)];
  if (target == nullptr && one.what != step_kind::spawn) return;
  switch (one.what) {
    case step_kind::tell:
      return tell(*target, one.script, &p);
    case step_kind::ask:
      return ask(*target, one.script, one.time, one.number, &p);
    case step_kind::spawn:
      if (one.kind >= 0) spawn(p, one.kind);
      return;
    case step_kind::stop:
      return tell_to_stop(*target);
    case step_kind::stop_after_mailbox:
      return stop_after_mailbox(*target);
    case step_kind::watch:
      return watch(p, *target);
    case step_kind::unwatch:
      std::erase(p.watching, target->number);
      std::erase_if(target->watchers, [&](const auto& w) { return w.first == p.number; });
      return;
    case step_kind::unstash:
      return unstash(p);
    case step_kind::after:
      return set_timer(p, one.script, one.time, {});
    case step_kind::every:
      return set_timer(p, one.script, one.time * 5, one.time * 5);
    case step_kind::cancel_timer:
      if (!p.timers.empty()) cancel(*p.timers.back());
      return;
    case step_kind::cancel_asks:
      return cancel_asks(static_cast<std::size_t>(one.number));
    case step_kind::open_gate:
      return open_gate(static_cast<std::size_t>(one.number), one.script);
    case step_kind::fail:
    case step_kind::stash:
      return;
  }
}

// Timers. ----------------------------------------------------------------------------------------

void reference::set_timer(person& p, std::int32_t script, nanoseconds delay, nanoseconds period) {
  letter m = message(++messages_, script);
  m.what = letter::sort::timer;
  m.bytes = 0;
  m.timer = std::make_shared<timer_of>();
  p.timers.push_back(m.timer);
  arm(p, std::move(m), delay, period);
}

void reference::arm(person& p, letter m, nanoseconds delay, nanoseconds period) {
  timer_of& t = *m.timer;
  t.alarm = add_alarm(now_ + delay, [this, &p, m = std::move(m), period] {
    // A tick is skipped while the one before has not been handled.
    if (!std::exchange(m.timer->in_mailbox, true)) post(p, m, nullptr);
    if (period.count() > 0) arm(p, m, period, period);
  });
}

void reference::cancel(timer_of& t) {
  t.cancelled = true;
  cancel_alarm(t.alarm);
}

void reference::cancel_timers(person& p) {
  for (const auto& t : std::exchange(p.timers, {}))
    cancel(*t);
}

// Death watch. -----------------------------------------------------------------------------------

void reference::watch(person& p, person& other) {
  const bool already = std::ranges::find(p.watching, other.number) != p.watching.end();
  if (already) return;  // once is enough
  p.watching.push_back(other.number);
  const auto tell_of = [this, &p, gone = other.number](const maybe_failure& why) {
    post(p, {.what = letter::sort::notice, .gone = gone, .why = why}, nullptr);
  };
  if (other.is == being::stopped) return tell_of(other.why);
  other.watchers.emplace_back(p.number, tell_of);
}

void reference::await_end(person& p) {
  const auto tell_of = [this, who = p.number](const maybe_failure& why) {
    emit({.what = event_kind::terminated, .a = who, .c = number_of(why)});
  };
  if (p.is == being::stopped) return tell_of(p.why);
  p.watchers.emplace_back(-1, tell_of);
}

}  // namespace troupe::model
