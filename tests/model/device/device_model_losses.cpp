// Who is to blame when a worker is lost, and what becomes of each request that it had.
#include "device_model.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace troupe::model {
// The first of its lane that a worker had and has not completed: nothing behind it can have begun.
bool device_model::is_first(std::uint64_t ticket, bool asked::* had) const {
  const asked& r = all_.at(ids_.at(ticket));
  if (!(r.*had) || r.done) return false;
  return std::ranges::none_of(ids_, [&](const auto& other) {
    const asked& o = all_.at(other.second);
    return other.first < ticket && o.what.lane == r.what.lane &&
           (o.in_the_way || (o.*had && !o.done && !o.over));
  });
}

// In a queue it may be the first and wait for one of another queue.
bool device_model::runs(std::uint64_t ticket) const {
  if (!is_first(ticket, &asked::begun)) return false;
  return !queues_ || std::ranges::none_of(ids_, [&](const auto& other) {
    const asked& o = all_.at(other.second);
    const bool is_there = o.withdrawn || (!o.over && !o.done);
    return other.first < ticket && is_there && conflict(o.what, all_.at(ids_.at(ticket)).what);
  });
}

std::optional<device_model::guilt> device_model::guilt_of(const sign& why, time now) const {
  switch (why.what) {
    case sign::sort::end:
      return guilt{
          .named = why.named, .called = why.called, .from_outside = why.from_outside, .at = now};
    case sign::sort::context_lost: {
      std::vector<std::uint64_t> first;
      for (const auto& [ticket, id] : ids_) {
        if (!all_.at(id).over && is_first(ticket, &asked::begun)) first.push_back(ticket);
      }
      if (first.size() != 1) return guilt{.named = {}, .called = {}, .at = now};
      return guilt{.named = first.front(), .called = {}, .at = now};
    }
    case sign::sort::silence:
    case sign::sort::hang:
      break;
  }
  for (const auto& [ticket, id] : ids_) {
    const asked& r = all_.at(id);
    if (r.over || !r.seen || !runs(ticket) || *r.seen + r.within.run > now) continue;
    return guilt{.named = ticket, .called = {}, .by_run_limit = true, .at = *r.seen + r.within.run};
  }
  if (why.what == sign::sort::hang) return std::nullopt;
  return guilt{.named = {}, .called = {}, .doubtful = true, .at = now};
}

std::optional<device_model::guilt> device_model::worker_ends(const sign& why, time now) {
  if (stopped_ || !active_) return std::nullopt;
  now_ = now;
  if (draining_) worker_is_reaped(now);
  auto whose = guilt_of(why, now);
  if (!whose) {
    fail(-1, "a worker is ended for no reason");
    return std::nullopt;
  }
  if (why.what == sign::sort::silence && !whose->named) ++silent_losses_;
  active_ = false;
  just_lost_ = true;
  for (auto& [id, r] : all_)
    r.seen.reset();
  return whose;
}

void device_model::settle(const guilt& whose) {
  std::vector<std::uint64_t> left;
  for (const auto& [ticket, id] : ids_) {
    if (!all_.at(id).over && !all_.at(id).done) left.push_back(ticket);
  }
  const bool is_named = judge(left, &asked::begun, whose);
  if (!admit_restart(whose.at, !is_named && !is_explained(whose), true))
    stops(errc::device_stopped);
}

void device_model::worker_is_lost(const sign& why, time now) {
  if (const auto whose = worker_ends(why, now)) settle(*whose);
}

bool device_model::worker_is_killed(const sign& why, time now) {
  const auto whose = worker_ends(why, now);
  if (!whose) return false;
  if (why.what == sign::sort::context_lost && whose->named) {
    // One has faulted and nothing of another lane is left: requests behind a fault never run.
    settle(*whose);
    return true;
  }
  for (auto& [id, r] : all_) {
    if (!r.over && !r.done && r.begun) r.held = true;
    r.kept = r.in_the_way;
    r.begun = false;
  }
  // How it ends, and so who is to blame, is not known yet of one that is about to.
  if (whose->named && why.what != sign::sort::end) accuse(*by_ticket(*whose->named), *whose);
  draining_ = whose;
  // How it has ended shows when it is reaped; where that decides, it is waited for.
  const bool is_known = why.what != sign::sort::end && is_explained(*whose);
  if (!is_known && is_spent(whose->at)) fail(-1, "the end, and nobody knows why");
  draining_costs_ = !is_known;
  (void)admit_restart(whose->at, draining_costs_, true);
  return false;
}

void device_model::worker_is_reaped(time now) {
  now_ = now;
  if (stopped_ || !draining_) return;
  std::vector<std::uint64_t> left;
  std::vector<asked*> had;
  for (const auto& [ticket, id] : ids_) {
    asked& r = all_.at(id);
    if (r.held) had.push_back(&r);
    if (r.held && !r.done) left.push_back(ticket);
    if (r.held && r.done) note_late(r, *r.done);
  }
  const bool is_named = judge(left, &asked::held, *draining_);
  if (draining_costs_ && (is_named || is_explained(*draining_))) refund(draining_->at);
  for (asked* r : had) {
    r->held = false;
    r->reaped = true;
    r->withdrawn = r->answer || r->due || r->done;
    if (r->answer || r->due) r->over = true;
  }
  for (auto& [id, r] : all_)
    r.kept = false;
  draining_.reset();
}

void device_model::recognise(asked& r) const {
  r.identity = {r.what.number};
  for (const auto* read : {&r.what.reads, &r.what.updates}) {
    for (const place& p : *read)
      r.identity->push_back(content_[static_cast<std::size_t>(p.buffer)]);
  }
}

void device_model::note_writes(const asked& r) {
  for (const auto* written : {&r.what.writes, &r.what.updates}) {
    for (const place& p : *written)
      ++content_[static_cast<std::size_t>(p.buffer)];
  }
}

// The requests in flight tell which content each of them has found.
void device_model::begin_to_count() {
  if (std::exchange(counts_, true)) return;
  for (const auto& [ticket, id] : ids_) {
    asked& r = all_.at(id);
    if (r.over && !r.withdrawn && !r.in_the_way) continue;
    recognise(r);
    note_writes(r);
  }
}

bool device_model::refused(const asked& r, time now) const {
  if (!r.identity) return false;
  const auto found = quarantine_.find(*r.identity);
  if (found == quarantine_.end() || found->second.faults < 2) return false;
  return now < found->second.until || found->second.on_trial;
}

void device_model::accuse(asked& r, const guilt& whose) {
  if (std::exchange(r.accused, true)) return;
  if (!whose.by_run_limit) {
    if (r.kills > 0) refund(r.suspected_at);
    begin_to_count();
    if (limits_.quarantine > std::chrono::nanoseconds(0)) {
      suspect& s = quarantine_[*r.identity];
      s.until = now_;
      if (++s.faults == 2) s.term = limits_.quarantine;
      if (s.faults > 2) s.term *= 2;
      if (s.faults >= 2) s.until = now_ + s.term;
    }
  }
  taint(r);
  if (!r.answer) r.due = errc::device_fault;
}

// `left` are those whose end the worker has left open, `had` says which of them it had.
bool device_model::judge(const std::vector<std::uint64_t>& left, bool asked::* had,
                         const guilt& whose) {
  std::vector<std::uint64_t> running;
  for (const std::uint64_t ticket : left) {
    if (is_first(ticket, had)) running.push_back(ticket);
  }
  // In a queue it need not have begun.
  std::vector<std::uint64_t> suspects = running;
  for (const std::uint64_t ticket : whose.called) {
    const bool is_left = std::ranges::find(left, ticket) != left.end();
    if (is_left && std::ranges::find(running, ticket) == running.end()) suspects.push_back(ticket);
  }
  std::optional<std::uint64_t> culprit = whose.named;
  const bool is_sure = !whose.from_outside && !whose.doubtful;
  if (!culprit && is_sure && suspects.size() == 1) culprit = suspects.front();

  if (culprit && !whose.by_run_limit && std::ranges::find(left, *culprit) != left.end() &&
      !by_ticket(*culprit)->accused) {
    begin_to_count();
  }
  for (const std::uint64_t ticket : left) {
    asked& r = *by_ticket(ticket);
    const bool ran = std::ranges::find(running, ticket) != running.end();
    const bool suspected = std::ranges::find(suspects, ticket) != suspects.end();
    const auto end = [&](errc code) {
      taint(r);
      r.over = true;
      r.due = code;
    };
    if (ticket == culprit) {
      accuse(r, whose);
      r.over = true;
    } else if (r.answer || r.due) {
      if (ran) {
        taint(r);
      } else if (r.answer && *r.answer != errc{}) {
        r.passed_by = !(r.*had);
        if (r.*had) miss(r);
      }
      r.over = true;
    } else if (suspected && !culprit && !whose.from_outside && r.kills + 1 >= 2) {
      end(errc::poisonous);
    } else if (ran && whose.from_outside &&
               (r.outside_kills + 1 >= 16 ||
                (r.outside_kills + 1 >= 6 &&
                 whose.at - r.first_killed_at >= std::chrono::seconds(2)))) {
      end(errc::aborted);
    } else if (ran && !safe_to_repeat(r.what)) {
      end(errc::aborted);
    } else if (reads_undefined(r, true)) {
      end(errc::tainted_buffer);
    } else if (suspected) {
      if (ran) {
        ++run_again_;
        r.interrupted = true;
        if (whose.from_outside && ++r.outside_kills == 1) r.first_killed_at = whose.at;
      }
      if (!culprit && !whose.from_outside) {
        ++r.kills;
        r.suspected_at = whose.at;
        r.alone = true;
      }
    }
  }
  for (const std::uint64_t ticket : left)
    by_ticket(ticket)->*had = false;
  for (auto& [id, r] : all_)
    r.in_the_way = false;
  return culprit.has_value();
}

int device_model::spent(time now) const {
  return static_cast<int>(std::ranges::count_if(losses_, [&](const loss& one) {
    return one.costs && now - one.at <= limits_.budget.window;
  }));
}

int device_model::budget() const {
  return ever_active_ ? limits_.budget.restarts : std::min(limits_.budget.restarts, 3);
}

void device_model::refund(time at) {
  const auto found =
      std::ranges::find_if(losses_, [&](const loss& one) { return one.at == at && one.costs; });
  if (found != losses_.end()) found->costs = false;
}

// True if a request has ended well since this was asked last: also one whose end is seen right now.
bool device_model::note_well() {
  bool any = false;
  for (auto& [id, r] : all_) {
    if (r.done != errc{} || r.held || r.answer.value_or(errc{}) != errc{} || r.noted_well) continue;
    if (!r.answer && reads_undefined(r, false)) continue;
    any = r.noted_well = true;
  }
  return any;
}

// By the budget, or because several have followed each other for longer than its window.
bool device_model::is_spent(time at) const {
  if (spent(at) >= budget()) return true;
  std::vector<time> row;
  for (const loss& one : losses_) {
    if (one.costs && !one.calmed) row.push_back(one.at);
  }
  return !row.empty() && static_cast<int>(row.size()) >= std::min(budget(), 3) &&
         at - row.front() > limits_.budget.window;
}

// `costs`: neither a request nor an outside cause is named.
bool device_model::admit_restart(time at, bool costs, bool served) {
  const bool lasted = served && at - active_since_ > limits_.budget.window;
  if (note_well() || lasted) {
    for (loss& one : losses_)
      one.calmed = true;
  }
  if (costs && is_spent(at)) return false;
  const int spent_before = spent(at);
  const auto in_a_row = static_cast<int>(std::ranges::count_if(losses_, [&](const loss& one) {
    return !one.calmed && at - one.at <= limits_.budget.window;
  }));
  losses_.push_back({.at = at, .costs = costs});
  const int earlier = costs ? std::max(spent_before, in_a_row) : in_a_row;
  // The first is immediate.
  std::chrono::nanoseconds wait{0};
  for (int i = 0; i < earlier; ++i) {
    wait = i == 0 ? limits_.wait.initial
                  : std::chrono::nanoseconds(static_cast<std::int64_t>(
                        static_cast<double>(wait.count()) * limits_.wait.factor));
    wait = std::min(wait, limits_.wait.longest);
  }
  activate_after_ = at + wait;
  return true;
}

}  // namespace troupe::model
