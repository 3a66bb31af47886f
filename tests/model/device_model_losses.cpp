// Who is to blame when a worker is lost, and what becomes of each request that it had.
#include "device_model.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace troupe::model {
namespace {

// What a request that has its answer is left to run beyond its deadline.
constexpr std::chrono::nanoseconds grace = std::chrono::milliseconds(100);

}  // namespace

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
      if (first.size() != 1)
        return guilt{.named = {}, .called = {}, .from_outside = false, .at = now};
      return guilt{.named = first.front(), .called = {}, .from_outside = false, .at = now};
    }
    case sign::sort::silence:
    case sign::sort::hang:
      break;
  }
  for (const auto& [ticket, id] : ids_) {
    const asked& r = all_.at(id);
    if (r.over || !r.deadline || !is_first(ticket, &asked::begun)) continue;
    // One that began before it was known to read the undefined has its answer, and can hang.
    if (*r.deadline + (r.answer ? grace : std::chrono::nanoseconds(0)) > now) continue;
    return guilt{.named = ticket, .called = {}, .from_outside = false, .at = *r.deadline};
  }
  if (why.what == sign::sort::hang) return std::nullopt;
  return guilt{.named = {}, .called = {}, .from_outside = true, .at = now};
}

std::optional<device_model::guilt> device_model::worker_ends(const sign& why, time now) {
  if (stopped_ || !active_) return std::nullopt;
  if (dying_) worker_is_reaped();
  auto whose = guilt_of(why, now);
  if (!whose) {
    fail(-1, "a worker is ended for no reason");
    return std::nullopt;
  }
  if (why.what == sign::sort::silence && !whose->named) ++silent_losses_;
  active_ = false;
  just_lost_ = true;
  return whose;
}

void device_model::settle(const guilt& whose) {
  std::vector<std::uint64_t> left;
  for (const auto& [ticket, id] : ids_) {
    if (!all_.at(id).over && !all_.at(id).done) left.push_back(ticket);
  }
  judge(left, &asked::begun, whose);
  if (!admit_restart(whose.at)) stops(errc::device_stopped);
}

void device_model::worker_is_lost(const sign& why, time now) {
  if (const auto whose = worker_ends(why, now)) settle(*whose);
}

bool device_model::worker_is_killed(const sign& why, time now) {
  const auto whose = worker_ends(why, now);
  if (!whose) return false;
  if (why.what == sign::sort::context_lost && whose->named) {
    // One has faulted and nothing of another lane is left: what comes behind a fault never runs.
    settle(*whose);
    return true;
  }
  for (auto& [id, r] : all_) {
    if (!r.over && !r.done && r.begun) r.held = true;
    r.begun = false;
  }
  // How it ends, and so who is to blame, is not known yet of one that is about to.
  if (whose->named && why.what != sign::sort::end) accuse(*by_ticket(*whose->named));
  dying_ = whose;
  if (!admit_restart(whose->at)) stops(errc::device_stopped);
  return false;
}

void device_model::worker_is_reaped() {
  if (stopped_ || !dying_) return;
  std::vector<std::uint64_t> left;
  std::vector<asked*> had;
  for (const auto& [ticket, id] : ids_) {
    asked& r = all_.at(id);
    if (r.held) had.push_back(&r);
    if (r.held && !r.done) left.push_back(ticket);
  }
  judge(left, &asked::held, *dying_);
  for (asked* r : had) {
    r->held = false;
    r->withdrawn = r->answer || r->due || r->done;
    if (r->answer || r->due) r->over = true;
  }
  dying_.reset();
}

void device_model::accuse(asked& r) {
  if (std::exchange(r.accused, true)) return;
  ++kills_by_number_[r.what.number];
  taint(r);
  if (!r.answer) r.due = errc::device_fault;
}

// `left` are those whose end the worker has left open, `had` says which of them it had.
void device_model::judge(const std::vector<std::uint64_t>& left, bool asked::* had,
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
  if (!culprit && !whose.from_outside && suspects.size() == 1) culprit = suspects.front();

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
      accuse(r);
      r.over = true;
    } else if (r.answer || r.due) {
      if (ran) taint(r);
      r.over = true;
    } else if (suspected && !culprit && r.kills + 1 >= 2) {
      end(errc::poisonous);
    } else if (ran && !safe_to_repeat(r.what)) {
      end(errc::aborted);
    } else if (reads_undefined(r, true)) {
      end(errc::tainted_buffer);
    } else if (suspected) {
      if (ran) {
        ++run_again_;
        r.interrupted = true;
      }
      if (!culprit) {
        ++r.kills;
        r.alone = true;
      }
    }
  }
  for (const std::uint64_t ticket : left)
    by_ticket(ticket)->*had = false;
  for (auto& [id, r] : all_)
    r.in_the_way = false;
}

bool device_model::admit_restart(time at) {
  std::erase_if(restarts_, [&](time then) { return at - then > limits_.budget.window; });
  const auto earlier = restarts_.size();
  if (static_cast<std::int64_t>(earlier) >= limits_.budget.restarts) return false;
  restarts_.push_back(at);
  // The first is immediate.
  std::chrono::nanoseconds wait{0};
  for (std::size_t i = 0; i < earlier; ++i) {
    wait = i == 0 ? limits_.wait.initial
                  : std::chrono::nanoseconds(static_cast<std::int64_t>(
                        static_cast<double>(wait.count()) * limits_.wait.factor));
    wait = std::min(wait, limits_.wait.longest);
  }
  activate_after_ = at + wait;
  return true;
}

}  // namespace troupe::model
