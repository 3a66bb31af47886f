#include "queue_implementation.hpp"
#include "seconds.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace troupe::serving {

namespace {

using std::chrono::nanoseconds;

constexpr std::int32_t most_aborts = 8;
/// A batch that was lost this often is split: the reason may be one of its items.
constexpr std::int32_t most_aborts_of_several = 3;
constexpr std::size_t most_quarantined = 4096;
constexpr nanoseconds longest_quarantine = std::chrono::hours(24);

}  // namespace

std::int64_t pieces_for(std::int64_t n, nanoseconds failover, double batch_seconds,
                        double item_seconds) {
  const double fault = in_seconds(failover);
  std::int64_t best = n;
  double least = fault + static_cast<double>(n) * (batch_seconds + item_seconds);  // singles
  // More pieces than 64 are worth their number only if they are singles.
  for (std::int64_t w = 2; w < std::min<std::int64_t>(n, 64); ++w) {
    double time = 0;
    double size = static_cast<double>(n);
    while (size > 1) {
      size /= static_cast<double>(w);
      time += fault + static_cast<double>(w) * (batch_seconds + item_seconds * std::max(size, 1.0));
    }
    if (time < least) {
      least = time;
      best = w;
    }
  }
  return best;
}

/// Sends the items of a failed batch again, in pieces.
void batch_queue::implementation::split(const run& failed, time_point now, run_end how,
                                        double seconds) {
  std::uint64_t of = failed.isolation;
  const bool first = of == 0;
  if (first) of = ++numbers_;
  isolation& all = isolations_[of];
  all.wasted += seconds;
  std::vector<std::uint32_t> alive;
  std::int64_t cost = 0;
  for (const std::uint32_t slot : failed.slots) {
    item& one = waiting.at(slot);
    waiting.charge(one, 0);
    if (first) all.members.push_back({one.terms.tenant, one.terms.priority, one.terms.cost});
    const bool late = one.terms.deadline <= now ||
                      (trusted(now) && now + predicted.of(one.terms.cost) > one.terms.deadline);
    if (one.gone || late) {
      end_item(slot, now, item_ending::expired);
      continue;
    }
    alive.push_back(slot);
    cost += one.terms.cost;
  }
  const auto n = static_cast<std::int64_t>(alive.size());
  std::int64_t pieces = n;
  if (n > 1 && failed.depth + 1 < config.levels) {
    const double fault = how == run_end::fault ? failover_ : 0;
    pieces = pieces_for(n, from_seconds(fault), predicted.of_batch(),
                        predicted.of_cost() * static_cast<double>(cost) / static_cast<double>(n));
  }
  if (n > 0) ++splits_[pieces];
  for (std::int64_t i = 0; i < pieces; ++i) {
    run piece{.isolation = of, .depth = failed.depth + 1};
    piece.plan.closed_by = closing::isolation;
    piece.slots.assign(alive.begin() + n * i / pieces, alive.begin() + n * (i + 1) / pieces);
    for (const std::uint32_t slot : piece.slots) {
      const item& one = waiting.at(slot);
      waiting.begin(slot, now, in_seconds(part_of_batch(one.terms.cost)));
    }
    pieces_.push_back(std::move(piece));
  }
  all.open += pieces + (first ? 1 : 0);
  piece_ended(of, now);  // the one that was split
}

/// It was lost with another batch.
void batch_queue::implementation::run_again(run lost, time_point now, double seconds) {
  std::erase_if(lost.slots, [&](std::uint32_t slot) {
    const item& one = waiting.at(slot);
    const bool ends = one.gone || one.terms.deadline <= now || lost.aborted >= most_aborts;
    if (ends) {
      end_item(slot, now, one.terms.deadline <= now ? item_ending::expired : item_ending::failed);
    }
    return ends;
  });
  ++lost.aborted;
  lost.plan.closed_by = closing::isolation;
  if (lost.slots.size() > 1 && lost.aborted >= most_aborts_of_several) {
    split(lost, now, run_end::exception, seconds);
  } else if (!lost.slots.empty()) {
    pieces_.push_back(std::move(lost));
  } else if (lost.isolation != 0) {
    piece_ended(lost.isolation, now);
  } else {
    --occupied_;
  }
}

/// The item was alone in a batch that failed.
void batch_queue::implementation::convict(const run& failed, time_point now, run_end how,
                                          std::uint64_t fingerprint, double seconds) {
  const std::uint32_t slot = failed.slots.front();
  item& one = waiting.at(slot);
  account who{one.terms.tenant, one.terms.priority, one.terms.cost,
              fingerprint != 0 ? fingerprint : one.terms.fingerprint};
  waiting.charge(one, seconds);
  if (one.gone) ++facts_.culprits;
  who.punished = how == run_end::fault;
  if (who.punished) punish(who, now);
  end_item(slot, now, item_ending::culprit);
  if (failed.isolation == 0) {
    --occupied_;
    return;
  }
  isolations_[failed.isolation].culprits.push_back(who);
  piece_ended(failed.isolation, now);
}

void batch_queue::implementation::piece_ended(std::uint64_t of, time_point now) {
  const auto found = isolations_.find(of);
  isolation& all = found->second;
  if (--all.open > 0) return;
  if (all.culprits.empty()) ++facts_.irreproducible;
  const std::vector<account>& payers = all.culprits.empty() ? all.members : all.culprits;
  double sum = 0;
  for (const account& one : payers)
    sum += static_cast<double>(one.cost);
  for (const account& one : payers) {
    waiting.charge(one.tenant, one.priority, all.wasted * static_cast<double>(one.cost) / sum);
    // An exception of every item is no item's fault.
    if (!one.punished && all.answered && !all.culprits.empty()) punish(one, now);
  }
  isolations_.erase(found);
  --occupied_;
}

void batch_queue::implementation::punish(const account& who, time_point now) {
  waiting.put_on_probation(who.tenant, now + config.probation);
  if (who.fingerprint == 0) return;
  // An offence is remembered for as long again as it was punished.
  std::erase_if(quarantined,
                [&](const auto& one) { return one.second.until + one.second.term <= now; });
  if (quarantined.size() >= most_quarantined && !quarantined.contains(who.fingerprint))
    quarantined.erase(std::ranges::min_element(quarantined, {},
                                               [](const auto& one) { return one.second.until; }));
  offence& one = quarantined[who.fingerprint];
  one.term = one.count++ == 0 ? config.quarantine : std::min(2 * one.term, longest_quarantine);
  one.until = now + one.term;
}

void batch_queue::implementation::accuse(item_id id, std::uint64_t fingerprint, time_point now) {
  const item* one = waiting.find(id);
  if (one == nullptr) return;
  ++facts_.culprits;
  punish({one->terms.tenant, one->terms.priority, one->terms.cost, fingerprint}, now);
}

}  // namespace troupe::serving
