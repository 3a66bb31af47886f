#include "queue_implementation.hpp"
#include "seconds.hpp"

#include <algorithm>

namespace troupe::serving {

namespace {

using std::chrono::nanoseconds;

/// So that sums of costs do not overflow.
constexpr std::int64_t largest_cost = std::int64_t{1} << 40;

}  // namespace

nanoseconds batch_queue::implementation::part_of_batch(std::int64_t cost) const noexcept {
  const double c = static_cast<double>(cost);
  double part = 1.0 / static_cast<double>(config.most_items);
  if (config.most_cost > 0) part = std::max(part, c / static_cast<double>(config.most_cost));
  return from_seconds(predicted.of_batch() * part + predicted.of_cost() * c);
}

nanoseconds batch_queue::implementation::full_batch(std::int64_t cost) const noexcept {
  return from_seconds(in_seconds(part_of_batch(cost)) * static_cast<double>(config.most_items));
}

nanoseconds batch_queue::implementation::in_flight_time(time_point now) const noexcept {
  nanoseconds sum{0};
  for (const auto& [id, one] : runs_) {
    const nanoseconds spent = one.began ? now - *one.began : nanoseconds(0);
    sum += std::max(one.plan.predicted - spent, nanoseconds(0));
  }
  return sum / config.lanes;
}

bool batch_queue::implementation::trusted(time_point now) const noexcept {
  return predicted.known() && (!runs_.empty() || now - last_sample_ < std::chrono::seconds(1));
}

/// While several tenants have items, each has its share of the limits; before that, one of them
/// leaves room for others.
refusal batch_queue::implementation::over_limits(const item_terms& terms) const {
  const tenant* who = waiting.known(terms.tenant);
  const auto over = [&](std::int64_t all, std::int64_t own, std::int64_t limit, std::int64_t more) {
    if (all + more > limit) return true;
    if (waiting.tenant_count() < 2 || own == 0) return false;
    const double share = who->weight / std::max(waiting.busy_weight(), who->weight);
    return static_cast<double>(own + more) > static_cast<double>(limit) * std::min(share, 0.875);
  };
  if (over(waiting.held_items, who != nullptr ? who->items : 0, config.queue.items, 1))
    return refusal::items;
  if (over(waiting.held_bytes, who != nullptr ? who->bytes : 0, config.queue.bytes, terms.bytes))
    return refusal::bytes;
  return refusal::none;
}

/// The reasons for which no room or time would help; sets what its padded size says.
admission batch_queue::implementation::check_item(item_terms& terms, std::uint32_t& place,
                                                  time_point now) const {
  if (closed) return {.reason = refusal::closed};
  if (!config.padded.empty()) {
    const auto size = std::ranges::lower_bound(config.padded, terms.cost);
    if (size == config.padded.end()) return {.reason = refusal::cost};
    place = static_cast<std::uint32_t>(size - config.padded.begin());
    terms.cost = *size;
  }
  if (terms.cost < 1 || terms.cost > largest_cost || terms.bytes < 0 ||
      terms.bytes > config.queue.bytes || (config.most_cost > 0 && terms.cost > config.most_cost)) {
    return {.reason = refusal::cost};
  }
  if (terms.fingerprint != 0) {
    const auto found = quarantined.find(terms.fingerprint);
    if (found != quarantined.end() && found->second.until > now)
      return {.reason = refusal::quarantine, .retry_after = found->second.until - now};
  }
  return {};
}

admission batch_queue::implementation::check(item_terms& terms, std::uint32_t& place,
                                             time_point now) const {
  if (const admission refused = check_item(terms, place, now); !refused) return refused;
  const nanoseconds part = part_of_batch(terms.cost);
  if (const refusal why = over_limits(terms); why != refusal::none) {
    return {
        .reason = why,
        .retry_after = std::max<nanoseconds>(full_batch(terms.cost), std::chrono::milliseconds(1))};
  }

  // Its place: behind all that goes before it, but a tenant waits for the others only in
  // proportion to their weights.
  const tenant* who = waiting.known(terms.tenant);
  nanoseconds before = waiting.held_before(terms.priority);
  nanoseconds own_work{0};
  const double weight = who != nullptr ? who->weight : waiting.weight_of(terms.tenant);
  if (who != nullptr) own_work = who->held;
  const bool is_new = who == nullptr || who->items == 0;
  const double weights = std::max(waiting.busy_weight() + (is_new ? weight : 0), weight);
  before = std::min(before, from_seconds(in_seconds(own_work + part) * weights / weight));
  // Its batch is as large as those that wait make it; whole batches go before that.
  const std::int64_t waiting_too = waiting.waiting_count + 1;
  std::int64_t batch_cost = waiting.waiting_cost + terms.cost;
  if (waiting_too > config.most_items) batch_cost = batch_cost / waiting_too * config.most_items;
  if (config.most_cost > 0) batch_cost = std::min(batch_cost, config.most_cost);
  const nanoseconds own = predicted.of(std::max(batch_cost, terms.cost));
  if (own.count() > 0) before = before / own * own;
  const nanoseconds ahead = in_flight_time(now) + before / config.lanes;
  const time_point finish = now + ahead + own;
  if (terms.deadline <= now) return {.reason = refusal::deadline};
  if (trusted(now)) {
    const nanoseconds error =
        from_seconds(in_seconds(ahead) * std::min(predicted.error_ratio(), 1.0));
    const time_point latest =
        now + ahead + error + predicted.upper(std::max(batch_cost, terms.cost));
    if (latest > terms.deadline)
      return {.reason = refusal::deadline, .retry_after = latest - terms.deadline};
    if (ahead.count() > 0 && finish - now > config.queue.device_time)
      return {.reason = refusal::device_time,
              .retry_after = finish - now - config.queue.device_time};
  }
  if (const double most = waiting.most_device_share(); most > 0 && !is_new) {
    const time_point at =
        std::max(who->capped_until, now) + from_seconds(in_seconds(own_work + part) / most);
    const time_point limit = std::min(terms.deadline, now + config.queue.device_time);
    if (at > limit) return {.reason = refusal::tenant, .retry_after = at - limit};
  }
  return {.predicted_finish = finish};
}

void batch_queue::implementation::note_overload(refusal why, const item_terms& terms,
                                                time_point now) noexcept {
  // One that gives no time for a batch is refused by a queue that is idle, too.
  const bool late = why == refusal::deadline && terms.deadline > now &&
                    terms.deadline - now > 2 * full_batch(terms.cost);
  if (late || why == refusal::device_time || why == refusal::items) overloaded_at_ = now;
}

admission batch_queue::implementation::admit(const item_terms& given, time_point now) {
  now_ = now;
  item_terms terms = given;
  std::uint32_t place = 0;
  admission verdict = check(terms, place, now);
  if (!verdict) {
    note_overload(verdict.reason, terms, now);
    ++facts_.refused[static_cast<std::size_t>(verdict.reason)];
    return verdict;
  }
  const double gap = in_seconds(now - last_arrival_);
  arrival_gap_ = arrival_gap_ == 0 ? gap : arrival_gap_ + 0.05 * (gap - arrival_gap_);
  last_arrival_ = now;
  // It begins without its delay if it could not wait: twice as early as it must, since predictions
  // err.
  time_point due = now + config.delay;
  if (terms.deadline != time_point::max())
    due = std::clamp(terms.deadline - 2 * predicted.of(terms.cost), now, due);
  const std::uint32_t slot = waiting.add(terms, place, now, due, part_of_batch(terms.cost));
  verdict.item = waiting.id_of(slot);
  return verdict;
}

}  // namespace troupe::serving
