#include "queue_implementation.hpp"
#include "seconds.hpp"

#include <troupe/base/error.hpp>

#include <algorithm>
#include <bit>
#include <utility>

namespace troupe::serving {

namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds least_run_limit = std::chrono::milliseconds(50);
constexpr nanoseconds longest_time = std::chrono::years(10);
/// Tenants are charged this for a unit of cost until a batch has ended.
constexpr double first_guess_seconds = 1e-6;

void observe(size_histogram& h, std::int64_t n) noexcept {
  const auto digits = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(n)));
  ++h[std::min(digits, h.size() - 1)];
}

void require(bool holds, const char* rule) {
  if (holds) return;
  throw failure({.code = errc::invalid_argument, .message = std::string("batch_queue: ") + rule});
}

batch_config checked(batch_config c) {
  require(c.most_items >= 1, "most_items must be at least 1");
  require(c.most_cost >= 0, "most_cost must not be negative");
  require(c.delay.count() >= 0 && c.starve.count() >= 0 && c.run_limit.count() >= 0 &&
              c.failover.count() >= 0 && c.quarantine.count() >= 0 && c.probation.count() >= 0,
          "times must not be negative");
  require(c.in_flight >= 1 && c.lanes >= 1 && c.levels >= 1,
          "in_flight, lanes and levels must be at least 1");
  require(c.queue.items >= 1 && c.queue.bytes >= 0 && c.queue.device_time.count() >= 0,
          "the queue must hold an item at least");
  for (const auto* sizes : {&c.preferred, &c.padded})
    require(std::ranges::is_sorted(*sizes) && (sizes->empty() || sizes->front() >= 1),
            "preferred and padded sizes must ascend, from 1 at least");
  require(c.preferred.empty() || c.preferred.back() <= c.most_items,
          "a preferred size must not exceed most_items");
  // So that any of them can be added to a time.
  for (nanoseconds* time : {&c.delay, &c.starve, &c.run_limit, &c.failover, &c.quarantine,
                            &c.probation, &c.queue.device_time})
    *time = std::min(*time, longest_time);
  return c;
}

}  // namespace

batch_queue::implementation::implementation(batch_config c)
    : config(checked(std::move(c))), failover_(in_seconds(config.failover)) {}

void batch_queue::implementation::end_item(std::uint32_t slot, time_point now, item_ending how) {
  const item& one = waiting.at(slot);
  if (one.gone) {
    ++facts_.cancelled;
  } else {
    ended.push_back({waiting.id_of(slot), how});
    ++(how == item_ending::expired   ? facts_.expired
       : how == item_ending::culprit ? facts_.culprits
                                     : facts_.failed);
    facts_.request_time.observe(now - one.arrived);
  }
  waiting.end(slot, now);
}

bool batch_queue::implementation::leave(item_id id, time_point now) {
  now_ = now;
  item* one = waiting.find(id);
  if (one == nullptr || one->gone) return false;
  one->gone = true;
  if (one->state == item_state::running) return false;
  end_item(waiting_items::slot_of(id), now, item_ending::expired);
  return true;
}

std::optional<batch_plan> batch_queue::implementation::next(time_point now) {
  now_ = now;
  waiting.pass(now);
  while (const auto slot = waiting.expired(now))
    end_item(*slot, now, item_ending::expired);
  if (!pieces_.empty()) {
    run piece = std::move(pieces_.front());
    pieces_.pop_front();
    return launch(std::move(piece), now);
  }
  if (!has_room()) return std::nullopt;
  const double rate = arrival_gap_ > 0 ? 1 / arrival_gap_ : 0;
  for (;;) {
    std::vector<std::pair<pool*, closing>> ready;
    waiting.each_pool([&](pool& one) {
      if (const auto why = waiting.ready(one, now, rate, predicted.of_batch()))
        ready.emplace_back(&one, *why);
    });
    if (ready.empty()) return std::nullopt;
    const seat* best = nullptr;
    std::pair<pool*, closing> chosen{};
    for (const level* in : waiting.levels(now)) {
      for (const auto& one : ready) {
        const seat* const head = waiting_items::first(*in, *one.first);
        if (head == nullptr || (best != nullptr && !head->before(*best))) continue;
        best = head;
        chosen = one;
      }
      if (best != nullptr) break;
    }
    if (best == nullptr) return std::nullopt;
    run filled = fill(*chosen.first, chosen.second, now);
    if (filled.slots.empty()) continue;  // its first item was too late
    for (const std::uint32_t slot : filled.slots)
      waiting.spend(*waiting.at(slot).owner, now, waiting.at(slot).charged);
    ++occupied_;
    return launch(std::move(filled), now);
  }
}

/// While more comes or waits than can be answered in time, the time of a full batch: an item that
/// is too late for one is dropped, since a smaller batch would make many others late, or refuse
/// them at the door.
nanoseconds batch_queue::implementation::least_time(const pool& from, std::int64_t most,
                                                    time_point start) const noexcept {
  if (from.count <= most) return nanoseconds(0);
  std::int64_t cost = from.cost / from.count * most;
  if (config.most_cost > 0) cost = std::min(cost, config.most_cost);
  const nanoseconds full = predicted.upper(cost);
  if (overloaded_at_ && now_ - *overloaded_at_ < std::chrono::milliseconds(500)) return full;
  const time_point end = start + waiting.waiting_time / config.lanes + full;
  return end > waiting.latest() ? full : nanoseconds(0);
}

/// Takes items in their order until the batch is full.
batch_queue::implementation::run batch_queue::implementation::fill(pool& from, closing why,
                                                                   time_point now) {
  run made;
  std::int64_t most = config.most_items;
  if (why == closing::preferred)
    most = *std::prev(std::ranges::upper_bound(config.preferred, from.count));
  const bool may_refuse = trusted(now);
  const time_point start = now + in_flight_time(now);
  const nanoseconds least = may_refuse ? least_time(from, most, start) : nanoseconds(0);
  time_point tightest = time_point::max();
  std::int64_t& cost = made.plan.cost;
  bool full = false;
  bool dropped = false;
  for (const level* in : waiting.levels(now)) {
    while (!full && static_cast<std::int64_t>(made.slots.size()) < most) {
      const seat* const first = waiting_items::first(*in, from);
      if (first == nullptr) break;
      const std::uint32_t slot = first->head.slot;
      const item& one = waiting.at(slot);
      const std::int64_t c = one.terms.cost;
      if (may_refuse && start + std::max(predicted.upper(c), least) > one.terms.deadline) {
        end_item(slot, now, item_ending::expired);
        // The first item has chosen the pool: without it another pool may come first.
        if (made.slots.empty()) return made;
        dropped = true;
        continue;
      }
      if (!made.slots.empty()) {
        full = true;
        const time_point deadline = std::min(tightest, one.terms.deadline);
        if (config.most_cost > 0 && cost + c > config.most_cost) {
          why = closing::cost;
          break;
        }
        if (may_refuse && start + predicted.upper(cost + c) > deadline) {
          why = closing::deadline;
          break;
        }
        full = false;
      }
      tightest = std::min(tightest, one.terms.deadline);
      cost += c;
      facts_.queue_time.observe(now - one.arrived);
      const double charge = predicted.known() ? in_seconds(part_of_batch(c))
                                              : first_guess_seconds * static_cast<double>(c);
      waiting.begin(slot, now, charge);
      made.slots.push_back(slot);
    }
  }
  if (static_cast<std::int64_t>(made.slots.size()) == config.most_items) {
    why = closing::items;
  } else if (!full && dropped && why != closing::free_lane) {
    // Without the item that was too late it might have waited for others.
    why = closing::deadline;
  }
  made.plan.closed_by = why;
  return made;
}

batch_plan batch_queue::implementation::launch(run one, time_point now) {
  batch_plan& plan = one.plan;
  plan.id = ++numbers_;
  plan.items.clear();
  plan.cost = 0;
  plan.deadline = time_point{};
  for (const std::uint32_t slot : one.slots) {
    const item& member = waiting.at(slot);
    plan.items.push_back(waiting.id_of(slot));
    plan.cost += member.terms.cost;
    plan.deadline = std::max(plan.deadline, member.terms.deadline);
  }
  plan.predicted = predicted.of(plan.cost);
  one.own_limit = config.run_limit;
  if (predicted.known()) {
    one.own_limit = std::max(least_run_limit, 8 * predicted.upper(plan.cost));
    if (config.run_limit.count() > 0) one.own_limit = std::min(one.own_limit, config.run_limit);
  }
  // Each of those before it may take its limit, and each piece may be a fault.
  plan.run_limit = one.own_limit;
  std::int32_t running = 0;
  for (const auto& [id, before] : runs_) {
    if (before.began) ++running;
    if (one.own_limit.count() > 0) plan.run_limit += before.own_limit / config.lanes;
    if (one.own_limit.count() > 0 && before.isolation != 0)
      plan.run_limit += from_seconds(failover_);
  }
  one.launched = now;
  one.began.reset();
  if (running < config.lanes) one.began = now;
  ++facts_.closed[static_cast<std::size_t>(plan.closed_by)];
  const auto count = static_cast<std::int64_t>(plan.items.size());
  observe(facts_.batch_items, count);
  observe(facts_.batch_cost, plan.cost);
  facts_.batch_items_sum += static_cast<std::uint64_t>(count);
  facts_.batch_cost_sum += static_cast<std::uint64_t>(plan.cost);
  batch_plan told = plan;
  runs_.emplace(plan.id, std::move(one));
  return told;
}

/// All of its items have ended with it.
void batch_queue::implementation::end_run(const run& one, time_point now, double seconds) {
  for (const std::uint32_t slot : one.slots) {
    item& member = waiting.at(slot);
    const double before = member.charged;
    waiting.charge(member, seconds * static_cast<double>(member.terms.cost) /
                               static_cast<double>(one.plan.cost));
    waiting.spend(*member.owner, now, member.charged - before);
    if (member.gone)
      ++facts_.cancelled;
    else
      facts_.request_time.observe(now - member.arrived);
    waiting.end(slot, now);
  }
}

void batch_queue::implementation::finish(batch_id batch, time_point now, run_end how,
                                         std::uint64_t fingerprint, std::int64_t failures) {
  now_ = now;
  const auto found = runs_.find(batch);
  if (found == runs_.end()) return;
  run one = std::move(found->second);
  runs_.erase(found);
  const nanoseconds time = now - one.began.value_or(one.launched);
  if (one.began) {
    const auto waits = std::ranges::find_if(runs_, [](const auto& r) { return !r.second.began; });
    if (waits != runs_.end()) waits->second.began = now;
  }
  const double seconds = in_seconds(time);
  const bool whole = one.isolation == 0;
  const std::uint64_t of = one.isolation;
  switch (how) {
    case run_end::answered:
    case run_end::failed: {
      std::int64_t told = 0;
      for (const std::uint32_t slot : one.slots)
        told += waiting.at(slot).gone ? 0 : 1;
      const std::int64_t lost = how == run_end::failed ? told : std::min(failures, told);
      facts_.answered += static_cast<std::uint64_t>(told - lost);
      facts_.failed += static_cast<std::uint64_t>(lost);
      if (how == run_end::answered) {
        predicted.add(one.plan.cost, time);
        last_sample_ = now;
      }
      end_run(one, now, seconds);
      if (whole) {
        --occupied_;
      } else {
        isolations_[of].answered |= how == run_end::answered;
        piece_ended(of, now);
      }
      return;
    }
    case run_end::aborted:
      run_again(std::move(one), now, seconds);
      return;
    case run_end::fault:
      failover_ += 0.2 * (std::max(seconds - in_seconds(one.plan.predicted), 0.0) - failover_);
      [[fallthrough]];
    case run_end::exception:
      if (one.slots.size() == 1)
        convict(one, now, how, fingerprint, seconds);
      else
        split(one, now, how, seconds);
      return;
  }
}

time_point batch_queue::implementation::wake_at() const noexcept {
  if (!pieces_.empty()) return now_;
  return waiting.wake_at(has_room());
}

queue_facts batch_queue::implementation::facts() const {
  queue_facts all = facts_;
  all.waiting_items = waiting.waiting_count;
  all.held_items = waiting.held_items;
  all.held_bytes = waiting.held_bytes;
  all.waiting_time = waiting.waiting_time;
  all.running_batches = static_cast<std::int64_t>(runs_.size());
  all.isolations.assign(splits_.begin(), splits_.end());
  all.device_seconds = waiting.device_seconds();
  all.quarantined =
      std::ranges::count_if(quarantined, [&](const auto& one) { return one.second.until > now_; });
  all.prediction_error = predicted.error_ratio();
  return all;
}

// --- The class that programs see

batch_queue::batch_queue(batch_config config)
    : implementation_(std::make_unique<implementation>(std::move(config))) {}
batch_queue::batch_queue(batch_queue&&) noexcept = default;
batch_queue& batch_queue::operator=(batch_queue&&) noexcept = default;
batch_queue::~batch_queue() = default;

void batch_queue::tenants(const tenant_shares& shares) {
  require(shares.others > 0 && shares.most_device_share >= 0 &&
              std::ranges::all_of(shares.weights, [](const auto& w) { return w.weight > 0; }),
          "weights must be positive");
  implementation_->waiting.share(shares);
}

admission batch_queue::admit(const item_terms& terms, time_point now) {
  return implementation_->admit(terms, now);
}
admission batch_queue::check(const item_terms& terms, time_point now) const {
  item_terms copy = terms;
  std::uint32_t place = 0;
  const admission verdict = implementation_->check(copy, place, now);
  implementation_->note_overload(verdict.reason, copy, now);
  return verdict;
}
bool batch_queue::leave(item_id item, time_point now) { return implementation_->leave(item, now); }
void batch_queue::close() noexcept { implementation_->closed = true; }
std::optional<batch_plan> batch_queue::next(time_point now) { return implementation_->next(now); }
void batch_queue::finish(batch_id batch, time_point now, run_end how, std::uint64_t fingerprint,
                         std::int64_t failures) {
  implementation_->finish(batch, now, how, fingerprint, failures);
}
std::vector<item_end> batch_queue::take_ended() noexcept {
  return std::exchange(implementation_->ended, {});
}
time_point batch_queue::wake_at() const noexcept { return implementation_->wake_at(); }
void batch_queue::accuse(item_id item, std::uint64_t fingerprint, time_point now) {
  implementation_->accuse(item, fingerprint, now);
}
std::vector<quarantined_item> batch_queue::quarantine(time_point now) const {
  std::vector<quarantined_item> all;
  for (const auto& [fingerprint, one] : implementation_->quarantined)
    if (one.until > now) all.push_back({fingerprint, one.until, one.count});
  return all;
}
bool batch_queue::wants_fingerprints() const noexcept {
  return !implementation_->quarantined.empty();
}
bool batch_queue::forgive(std::uint64_t fingerprint) noexcept {
  return implementation_->quarantined.erase(fingerprint) > 0;
}
void batch_queue::learn(std::int64_t cost, nanoseconds time) noexcept {
  if (cost > 0) implementation_->predicted.add(cost, time);
}
const prediction& batch_queue::predicted() const noexcept { return implementation_->predicted; }
queue_facts batch_queue::facts() const { return implementation_->facts(); }

}  // namespace troupe::serving
