#include "actor_model_parts.hpp"

#include <algorithm>
#include <array>

namespace troupe::model {

// Supervision. -----------------------------------------------------------------------------------

void reference::fail(person& p, const failure_of& f) {
  if (p.is != being::active && p.is != being::starting) return;
  p.is = being::failed;
  p.why = f;
  order(*p.parent,
        [this, &p, f, resumable = p.alive] { child_failed(*p.parent, p, f, resumable); });
}

reference::verdict reference::decide(const person& p, const failure_of& f) {
  // By the codes of the scenario: numerical, out_of_memory, device_fault, aborted.
  constexpr std::array<directive, error_codes> by_default{directive::restart, directive::resume,
                                                          directive::restart, directive::restart};
  if (p.kind->decider == default_decides) return {by_default[f.code], true};
  directive d = s_.verdicts[static_cast<std::size_t>(p.kind->decider)][f.code];
  emit({.what = event_kind::decides,
        .a = p.kind->decider,
        .b = f.number,
        .c = static_cast<std::int32_t>(d)});
  if (p.parent != nullptr || d != directive::escalate) return {d, false};
  if (!s_.has_last_word) return {directive::stop, true};
  d = s_.last_words[f.code];
  emit({.what = event_kind::last_word, .b = f.number, .c = static_cast<std::int32_t>(d)});
  return {d == directive::escalate ? directive::stop : d, false};
}

void reference::child_failed(person& p, person& c, const failure_of& f, bool resumable) {
  // Else its children stop anyway.
  if (p.is != being::active && p.is != being::failed && p.is != being::stopping) return;
  if (ends_with_others(p, c)) return;
  auto [d, unasked] = decide(p, f);
  if (d == directive::resume && !resumable) d = directive::restart;
  if (d == directive::escalate && p.is == being::stopping) {
    return order(c, [this, &c, f] { stop(c, f, false); });
  }
  const supervision& how = p.kind->looks_after;
  const auto at =
      std::ranges::find_if(p.children, [&](const person::child& one) { return one.who == &c; });
  std::vector<nanoseconds>& history =
      how.strategy == strategy::one_for_one ? at->restarts : p.group_restarts;
  bool spent = false;
  if (d == directive::restart) {
    std::erase_if(history, [&](nanoseconds then) { return now_ - then > how.budget.window; });
    if (static_cast<std::int64_t>(history.size()) < how.budget.restarts) {
      history.push_back(now_);
    } else {
      d = directive::stop;
      spent = true;
    }
  }
  if (spent || unasked) {
    emit({.what = event_kind::logged,
          .a = c.number,
          .b = f.number,
          .c = spent ? -1 : static_cast<std::int32_t>(d)});
  }
  std::vector<person*> concerned;
  for (auto one = p.children.begin(); one != p.children.end(); ++one) {
    if (one == at || how.strategy == strategy::one_for_all ||
        (how.strategy == strategy::rest_for_one && one > at)) {
      concerned.push_back(one->who);
    }
  }
  switch (d) {
    case directive::resume:
      return order(c, [this, &c] { resume(c); });
    case directive::escalate:
      p.escalated.push_back(&c);
      return fail(p, f);
    case directive::stop:
      for (auto one = concerned.rbegin(); one != concerned.rend(); ++one)
        order(**one, [this, who = *one, f] { stop(*who, f, false); });
      return;
    case directive::restart:
      if (how.strategy != strategy::one_for_one) {
        return restart_together(p, std::move(concerned), f, history.size());
      }
      return after_backoff(p, c, history.size(), [this, &c, f] {
        if (c.is == being::failed) end(c, f);
      });
  }
}

void reference::resume(person& p) {
  if (p.is != being::failed) return;
  // An actor that could not begin cannot resume.
  if (!p.alive) return stop(p, p.why, false);
  p.is = being::active;
  p.why.reset();
  for (person* waiting : std::exchange(p.escalated, {}))
    order(*waiting, [this, waiting] { resume(*waiting); });
  drained(p);
}

/// Has `who`, a child or `p` itself, do something once the wait before the nth restart is over.
void reference::after_backoff(person& p, person& who, std::size_t nth, std::function<void()> what) {
  const backoff& b = p.kind->looks_after.backoff;
  nanoseconds wait = b.initial;
  for (std::size_t i = 1; i < nth && wait < b.longest; ++i)
    wait = nanoseconds(static_cast<std::int64_t>(static_cast<double>(wait.count()) * b.factor));
  wait = std::min(wait, b.longest);
  if (wait.count() == 0) return order(who, std::move(what));
  cancel_put_off(p, who);
  p.put_off[&who] = add_alarm(now_ + wait, [&who, what] { order(who, what); });
}

void reference::cancel_put_off(person& p, const person& who) {
  if (const auto found = p.put_off.find(&who); found != p.put_off.end()) {
    cancel_alarm(found->second);
    p.put_off.erase(found);
  }
}

// Several are restarted together: all end, from the last to the first; then the backoff; then all
// begin, from the first to the last. Each is asked when the one before is done.

bool reference::ends_with_others(const person& p, const person& c) {
  return p.together && p.together->now == stage::ending &&
         std::ranges::find(p.together->members, &c) != p.together->members.end();
}

void reference::restart_together(person& p, std::vector<person*> members, const failure_of& f,
                                 std::size_t nth) {
  if (p.together) {
    // Actors that have not begun again since an earlier failure begin with these.
    std::vector<person*> all;
    const person::group& g = *p.together;
    for (std::size_t i = g.now == stage::beginning ? g.up : 0; i < g.members.size(); ++i) {
      if (std::ranges::find(members, g.members[i]) == members.end()) all.push_back(g.members[i]);
    }
    all.insert(all.end(), members.begin(), members.end());
    members = std::move(all);
  }
  const std::size_t all = members.size();
  p.together = person::group{.members = std::move(members), .up = all, .why = f, .nth = nth};
  next_step(p);
}

void reference::next_step(person& p) {
  person::group& g = *p.together;
  const std::uint64_t step = ++p.step;
  if (g.members.empty() || (g.now == stage::beginning && g.up == g.members.size())) {
    p.together.reset();
  } else if (g.now == stage::beginning) {
    person& next = *g.members[g.up];
    order(next, [this, &next, step] {
      if (next.is != being::vacant) return;
      begin(next, std::exchange(next.why, std::nullopt));
      // One that has failed to begin has said so.
      if (next.is != being::failed) step_done(*next.parent, step);
    });
  } else if (g.up > 0) {
    person& next = *g.members[g.up - 1];
    order(next, [this, &next, step, why = g.why] { end_with_others(next, why, step); });
  } else {
    g.now = stage::waiting;
    after_backoff(p, p, g.nth, [this, &p, step] { go_on(p, step); });
  }
}

void reference::end_with_others(person& p, const failure_of& why, std::uint64_t step) {
  if (p.is == being::stopping || p.is == being::stopped) return;
  p.asked_to = step;
  if (p.is == being::active || p.is == being::failed) return end(p, why);
  if (p.is == being::vacant) has_ended(p);
}

void reference::step_done(person& p, std::uint64_t step) {
  order(p, [this, &p, step] { go_on(p, step); });
}

void reference::go_on(person& p, std::uint64_t step) {
  if (!p.together || step != p.step) return;  // overtaken
  person::group& g = *p.together;
  switch (g.now) {
    case stage::ending:
      --g.up;
      break;
    case stage::waiting:
      g.now = stage::beginning;
      break;
    case stage::beginning:
      ++g.up;
      break;
  }
  next_step(p);
}

void reference::leave_group(person& p, const person& child) {
  if (!p.together) return;
  person::group& g = *p.together;
  const auto at = std::ranges::find(g.members, &child);
  if (at == g.members.end()) return;
  const auto index = static_cast<std::size_t>(at - g.members.begin());
  const bool awaited =
      (g.now == stage::ending && index + 1 == g.up) || (g.now == stage::beginning && index == g.up);
  g.members.erase(at);
  if (index < g.up) --g.up;
  if (awaited) next_step(p);
}

}  // namespace troupe::model
