#include "device_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe::model {

using namespace std::chrono_literals;

device_model::device_model(const limits& l)
    : limits_(l), queues_(l.queues), activate_after_(l.now) {}

void device_model::fail(int id, const std::string& what) {
  if (wrong_.empty()) wrong_ = fmt::format("request {}: {}\n", id, what);
}

device_model::asked* device_model::by_ticket(std::uint64_t ticket) {
  const auto found = ids_.find(ticket);
  return found == ids_.end() ? nullptr : &all_.at(found->second);
}

// Undefined content. ---------------------------------------------------------------------------

bool device_model::safe_to_repeat(const use_plan& p) {
  return p.updates.empty() && std::ranges::none_of(p.writes, [&](const place& w) {
           return std::ranges::any_of(p.reads, [&](const place& r) { return r.overlaps(w); });
         });
}

bool device_model::conflict(const use_plan& a, const use_plan& b) {
  const auto meet = [](const std::vector<place>& some, const std::vector<place>& others) {
    return std::ranges::any_of(some, [&](const place& x) {
      return std::ranges::any_of(others, [&](const place& y) { return x.overlaps(y); });
    });
  };
  const auto written_meets = [&](const use_plan& p, const use_plan& q) {
    return std::ranges::any_of(std::array{&p.writes, &p.updates}, [&](const auto* written) {
      return meet(*written, q.reads) || meet(*written, q.writes) || meet(*written, q.updates);
    });
  };
  return written_meets(a, b) || written_meets(b, a);
}

// A request between the two is in flight that writes it and reads nothing of it.
bool device_model::to_be_overwritten(std::int32_t buffer, std::int32_t cell, std::uint64_t after,
                                     std::uint64_t before) const {
  for (const auto& [ticket, id] : ids_) {
    const asked& r = all_.at(id);
    if (ticket <= after || ticket >= before || r.over || r.answer) continue;
    if (std::ranges::any_of(r.what.writes,
                            [&](const place& w) { return w.covers(buffer, cell); })) {
      return true;
    }
  }
  return false;
}

bool device_model::reads_undefined(const asked& r, bool unless_overwritten, bool or_missed) const {
  const std::uint64_t self = r.ticket.value_or(forever);
  for (const auto* read : {&r.what.reads, &r.what.updates}) {
    for (const place& p : *read) {
      for (std::int32_t cell = p.begin; cell < p.end; ++cell) {
        const auto& by =
            undefined_[static_cast<std::size_t>(p.buffer)][static_cast<std::size_t>(cell)];
        for (const auto& [culprit, until] : by) {
          if (culprit >= self || (until != forever && until <= self)) continue;
          if (!or_missed && missed_.contains(culprit)) continue;
          if (unless_overwritten && to_be_overwritten(p.buffer, cell, culprit, self)) continue;
          return true;
        }
      }
    }
  }
  return false;
}

void device_model::taint(const asked& r) {
  for (const auto* written : {&r.what.writes, &r.what.updates}) {
    for (const place& p : *written) {
      for (std::int32_t cell = p.begin; cell < p.end; ++cell) {
        undefined_[static_cast<std::size_t>(p.buffer)][static_cast<std::size_t>(cell)][*r.ticket] =
            forever;
      }
    }
  }
}

// A worker says how a request has ended that was answered before.
void device_model::note_late(asked& r, errc code) {
  if (!r.answer || *r.answer == errc{}) return;
  if (code == errc::numerical) taint(r);
  if (code == errc::cancelled || code == errc::deadline_exceeded) miss(r);
}

// It has written nothing. Its updates leave cells as they were, for callers who know that.
void device_model::miss(asked& r) {
  r.passed_by = false;
  missed_.insert(*r.ticket);
  const auto leave = [&](const std::vector<place>& written, std::uint64_t until) {
    for (const place& p : written) {
      for (std::int32_t cell = p.begin; cell < p.end; ++cell) {
        undefined_[static_cast<std::size_t>(p.buffer)][static_cast<std::size_t>(cell)].try_emplace(
            *r.ticket, until);
      }
    }
  };
  leave(r.what.writes, forever);
  leave(r.what.updates, r.answer ? r.answered_before : next_ticket());
}

void device_model::define(const asked& r) {
  for (const place& p : r.what.writes) {
    for (std::int32_t cell = p.begin; cell < p.end; ++cell) {
      auto& by = undefined_[static_cast<std::size_t>(p.buffer)][static_cast<std::size_t>(cell)];
      by.erase(by.begin(), by.lower_bound(*r.ticket));
    }
  }
}

// Callers. ---------------------------------------------------------------------------------------

void device_model::sends(int id, const use_plan& what, const time_limits& within) {
  all_[id] = asked{.what = what, .within = within, .ticket = {}};
}

void device_model::is_sent(int id, std::uint64_t ticket, time now) {
  asked& r = all_[id];
  if (stopped_) fail(id, "sent although the device has stopped");
  if (r.answer) fail(id, "sent although it was refused");
  if (counts_) recognise(r);
  if (refused(r, now)) fail(id, "sent although in quarantine");
  // The program learns later what was missed.
  if (reads_undefined(r, true, false)) fail(id, "sent although it reads what is undefined");
  r.ticket = ticket;
  r.alone = std::exchange(next_alone_, false);
  if (counts_) {
    const auto found = quarantine_.find(*r.identity);
    r.on_trial = found != quarantine_.end() && found->second.faults >= 2;
    if (r.on_trial) r.alone = found->second.on_trial = true;
    note_writes(r);
  }
  ids_[ticket] = id;
}

void device_model::cancels(int id) { all_[id].cancelled = true; }

void device_model::stops(errc code) {
  if (!stopped_) stopped_ = code;
  active_ = false;
}

void device_model::is_answered(int id, errc code, time now) {
  asked& r = all_[id];
  ++ends_[code];
  if (r.answer) return fail(id, "a second answer");
  r.answer = code;
  r.answered_before = next_ticket();
  // It is known to read the undefined as the worker that had it is reaped: the next one has it
  // still.
  if (r.reaped && code == errc::tainted_buffer) r.over = r.withdrawn = true;
  if (r.on_trial) {
    if (const auto tried = quarantine_.find(*r.identity); tried != quarantine_.end()) {
      tried->second.on_trial = false;
      if (code == errc{}) quarantine_.erase(tried);
    }
  }
  const auto expect = [&](bool right, std::string_view otherwise) {
    if (!right) {
      fail(id,
           fmt::format("answered {}: {}", code == errc{} ? "well" : to_string(code), otherwise));
    }
  };
  if (r.due) {
    // The last completions of the lost worker may be what shows that it read the undefined.
    const bool shown_now = code == errc::tainted_buffer && reads_undefined(r, true);
    expect(*r.due == code || shown_now, fmt::format("{} is due", to_string(*r.due)));
    return;
  }
  if (!r.ticket) {
    r.over = true;
    if (stopped_) return expect(code == *stopped_, "the device has stopped");
    if (code == errc::poisonous) {
      if (counts_) recognise(r);
      return expect(refused(r, now), "not in quarantine");
    }
    if (code == errc::tainted_buffer) return expect(reads_undefined(r, true), "all is defined");
    return expect(code == errc::mailbox_full, "refused for no reason");
  }
  const bool running = is_first(*r.ticket, &asked::begun);
  if (r.done) r.over = true;
  const bool undefined = reads_undefined(r, false);
  const bool done_well = r.done && *r.done == errc{};
  if (code == errc{}) {
    expect(done_well, "it has not completed");
    expect(!undefined, "it has read what is undefined");
    return define(r);
  }
  if (code == errc::tainted_buffer) {
    expect(done_well ? undefined : reads_undefined(r, true), "all is defined");
  } else if (code == errc::deadline_exceeded) {
    expect(r.done == code || (r.within.deadline && *r.within.deadline <= now), "not yet");
  } else if (code == errc::cancelled) {
    expect(r.done == code || (!running && r.cancelled), "nobody has cancelled it");
  } else if (stopped_ == code) {
    r.over = true;
    return;
  } else {
    expect(r.done == code, "nobody said so");
  }
  // It may have run, and what it writes then comes from the undefined; or in part.
  const bool failed_itself = r.done == code && code == errc::numerical;
  if (undefined || r.interrupted || failed_itself) {
    taint(r);
  } else if (r.done == code && code != errc::tainted_buffer) {
    miss(r);
  }
}

bool device_model::all_answered() const {
  return std::ranges::all_of(all_, [](const auto& one) { return one.second.answer.has_value(); });
}

// The worker in service. -------------------------------------------------------------------------

void device_model::begins(std::uint64_t ticket, bool alone, time now) {
  asked* r = by_ticket(ticket);
  const int id = r != nullptr ? ids_.at(ticket) : -1;
  if (r == nullptr || r->over) return fail(id, "begins although there is no such request");
  if (r->held) fail(id, "begins although a killed worker may still do it");
  if (r->answer) fail(id, "begins although it has its answer");
  if (r->begun) fail(id, "begins twice");
  if (r->done) fail(id, "begins although it has completed");
  if (r->within.deadline && *r->within.deadline <= now) fail(id, "begins after its deadline");
  if (r->alone != alone) fail(id, alone ? "begins alone" : "does not begin alone");
  for (const auto& [other, other_id] : ids_) {
    const asked& o = all_.at(other_id);
    if (other == ticket || o.over || o.done) continue;
    if (o.begun && (alone || o.alone)) fail(id, fmt::format("begins beside {}", other_id));
    if (other > ticket || o.answer || (queues_ && o.begun)) continue;
    if (o.what.lane == r->what.lane || conflict(o.what, r->what)) {
      fail(id, fmt::format("begins before {} has ended", other_id));
    }
  }
  r->begun = true;
}

void device_model::completes(std::uint64_t ticket, errc code) {
  asked* r = by_ticket(ticket);
  if (r == nullptr) return fail(-1, "completes although there is no such request");
  // The word of a killed worker is read when it is reaped.
  if (!r->held && !r->done) note_late(*r, code);
  if (std::exchange(r->in_the_way, false)) {
    r->withdrawn = r->kept;
    return;
  }
  r->done = code;
  if (r->answer && !r->held) r->over = true;
}

bool device_model::has_answer(std::uint64_t ticket) {
  const asked* r = by_ticket(ticket);
  return r != nullptr && r->answer.has_value();
}

void device_model::passes_over(std::uint64_t ticket) {
  asked* r = by_ticket(ticket);
  if (r == nullptr) return fail(-1, "is passed over although there is no such request");
  if (r->over && r->withdrawn) {
    r->in_the_way = true;
    return;
  }
  // It is unknown outside whether it was revoked before its turn came in a queue.
  r->over = false;
  r->begun = true;
}

// The next one. ----------------------------------------------------------------------------------

void device_model::worker_starts(time now) {
  if (stopped_) fail(-1, "a worker starts although the device has stopped");
  if (next_ != next::none) fail(-1, "a second worker starts");
  if (!active_ && now < activate_after_) fail(-1, "a worker starts before the backoff is over");
  next_ = next::starting;
}

void device_model::next_fails(errc code, time now) {
  next_ = next::none;
  just_failed_ = true;
  if (active_ || stopped_) return;
  const bool permanent = code == errc::library_missing || code == errc::worker_not_found;
  if (permanent) return stops(code);
  if (admit_restart(now, true, false)) return;
  stops(code == errc::device_unavailable && !ever_active_ ? code : errc::device_stopped);
}

void device_model::is_activated(time now) {
  if (next_ != next::ready) fail(-1, "a worker serves that is not ready");
  if (active_) fail(-1, "a worker serves beside another");
  if (now < activate_after_) fail(-1, "a worker serves before the backoff is over");
  next_ = next::none;
  active_ = true;
  ever_active_ = true;
  active_since_ = now;
  // An answered request is not handed over, unless an earlier worker may still complete it.
  for (auto& [id, r] : all_) {
    if (!r.answer || r.held || r.kept) continue;
    const bool not_run = std::exchange(r.passed_by, false) || !r.over;
    if (not_run && r.ticket && *r.answer != errc{}) miss(r);
    r.over = true;
    r.withdrawn = false;
  }
  // After several losses without a culprit, one request tries the new worker out.
  next_alone_ = false;
  if (spent(now) < 3) return;
  for (const auto& [ticket, id] : ids_) {
    asked& r = all_.at(id);
    if (r.over || r.held || r.answer) continue;
    r.alone = true;
    return;
  }
  next_alone_ = true;
}

// When a request has cost a worker the others are looked at in the next turn.
void device_model::check_limits(int id, asked& r, time now, time next_turn, bool lost) {
  const auto look_at = [&](time when, const char* otherwise) {
    if (when <= now && !lost) fail(id, otherwise);
    if (when < next_turn && now < next_turn) fail(id, "nobody looks at it in time");
  };
  if (r.within.deadline && !r.answer) look_at(*r.within.deadline, "has no answer at its deadline");
  if (!runs(*r.ticket)) {
    r.seen.reset();
    const auto often = std::max<std::chrono::nanoseconds>(r.within.run / 32, 1ms);
    if (often < 100ms) look_at(now + often, "");
    return;
  }
  if (!r.seen) r.seen = now;
  look_at(*r.seen + r.within.run, "runs beyond its limit");
}

void device_model::turn_is_over(time now, time next_turn) {
  const bool lost = std::exchange(just_lost_, false);
  const bool failed = std::exchange(just_failed_, false);
  for (auto& [id, r] : all_) {
    r.reaped = false;
    if (r.due && !r.answer) fail(id, fmt::format("{} is due", to_string(*r.due)));
    if (stopped_ && !r.answer) fail(id, "has no answer although the device has stopped");
    if (r.done && !r.answer && !r.held) fail(id, "has completed and has no answer");
    if (!stopped_ && r.ticket && !r.over) check_limits(id, r, now, next_turn, lost);
  }
  // One that fails as soon as it is started is tried again in the next turn.
  if (stopped_ || active_) return;
  if (next_ != next::starting && std::max(now, activate_after_) < next_turn) {
    fail(-1, "nobody looks after the next worker in time");
  }
  if (failed) return;
  if (next_ == next::none && now >= activate_after_) fail(-1, "nobody starts a worker");
  if (next_ == next::ready && now >= activate_after_) fail(-1, "nobody has the next worker serve");
}

}  // namespace troupe::model
