#include "queue_schedule.hpp"

#include <algorithm>

namespace troupe::model {

using namespace std::chrono_literals;
using serving::closing;
using serving::item_ending;
using serving::run_end;

queue_schedule::queue_schedule(std::uint64_t seed, bool print)
    : random_(seed),
      print_(print),
      config_(draw_config()),
      queue_(config_),
      capped_(once_in(5)),
      stops_(once_in(6)) {
  if (capped_ || once_in(2)) {
    queue_.tenants(
        {.weights = {{1, 1.0}, {2, 3.0}}, .others = 2, .most_device_share = capped_ ? 0.3 : 0.0});
  }
}

serving::batch_config queue_schedule::draw_config() {
  serving::batch_config c;
  c.most_items = 1 + below(8);
  if (once_in(2)) c.most_cost = 8 + below(40);
  if (once_in(2)) c.delay = 1ms * below(10);
  if (once_in(4)) c.padded = {2, 4, 8};
  if (once_in(3) && c.most_items > 3) c.preferred = {2, 3};
  c.in_flight = static_cast<std::int32_t>(1 + below(3));
  c.lanes = static_cast<std::int32_t>(1 + below(2));
  c.starve = 1ms * (5 + below(50));
  c.queue = {
      .items = 4 + below(60), .bytes = 100 + below(400), .device_time = 1ms * (20 + below(300))};
  c.failover = 1ms * below(20);
  c.levels = static_cast<std::int32_t>(1 + below(4));
  c.probation = c.quarantine = 1ms * (1 + below(100));
  return c;
}

void queue_schedule::expect(bool holds, const std::string& rule) {
  if (!holds && wrong_.empty()) wrong_ = rule + "\n";
}

void queue_schedule::note(const std::string& line) {
  if (print_) trace_ << (now_.time_since_epoch() - 1h).count() / 1000 << " us " << line << '\n';
}

std::string queue_schedule::run() {
  std::int64_t arrivals = 20 + below(60);
  const bool bursts = once_in(2);
  time_point next_arrival = now_;
  for (std::int64_t steps = 0; wrong_.empty(); ++steps) {
    if (steps > 20'000) return "it never comes to an end\n";
    time_point next = arrivals > 0 ? next_arrival : time_point::max();
    for (const auto& [id, one] : running_)
      next = std::min(next, one.ends);
    next = std::min(next, queue_.wake_at());
    if (next == time_point::max()) break;
    now_ = std::max(now_, next);
    if (arrivals > 0 && next_arrival <= now_) {
      --arrivals;
      arrive();
      next_arrival = now_ + (bursts && !once_in(4) ? 0ns : nanoseconds(below(6'000'000)));
    }
    if (once_in(10)) depart();
    look_at_levels();
    end_batch();
    settle();
  }
  const serving::queue_facts f = queue_.facts();
  if (wrong_.empty()) {
    expect(alive_ == 0, "an item has not ended");
    expect(f.held_items == 0 && f.held_bytes == 0 && f.waiting_items == 0 &&
               f.waiting_time.count() == 0 && f.running_batches == 0,
           "credits were not given back");
    const std::uint64_t outcomes = f.culprits + f.answered + f.failed + f.expired + f.cancelled;
    expect(outcomes >= accepted_ && outcomes <= accepted_ + f.culprits,
           "the outcomes do not add up");
  }
  if (print_) fputs(trace_.str().c_str(), stdout);
  return wrong_;
}

void queue_schedule::arrive() {
  known_item one;
  serving::item_terms& t = one.terms;
  t.cost = 1 + below(8);
  t.bytes = below(40);
  t.priority = static_cast<std::uint8_t>(below(3));
  t.tenant = static_cast<std::uint64_t>(below(4));
  if (once_in(3)) t.sequence = static_cast<std::uint64_t>(1 + below(2));
  if (once_in(3)) t.deadline = now_ + 1ms * below(60);
  if (once_in(12)) one.kind = static_cast<poison>(1 + below(3));
  t.fingerprint =
      static_cast<std::uint64_t>(1 + below(40)) << 2 | static_cast<std::uint64_t>(one.kind);
  const auto verdict = queue_.admit(t, now_);
  note("arrives " + std::to_string(verdict.item) + " cost " + std::to_string(t.cost) + " level " +
       std::to_string(t.priority) + " tenant " + std::to_string(t.tenant) + " sequence " +
       std::to_string(t.sequence) + " " + std::string(to_string(verdict.reason)));
  const auto kept = quarantine_.find(t.fingerprint);
  const bool refused = kept != quarantine_.end() && kept->second > now_;
  if (refused) expect(!verdict, "one in quarantine was accepted");
  if (!verdict) {
    expect(verdict.retry_after.count() >= 0, "a refusal with a time in the past");
    return;
  }
  expect(t.deadline > now_, "one that has expired was accepted");
  ++accepted_;
  ++alive_;
  alive_bytes_ += t.bytes;
  expect(alive_ <= config_.queue.items && alive_bytes_ <= config_.queue.bytes,
         "more was accepted than the limits allow");
  if (!config_.padded.empty()) t.cost = *std::ranges::lower_bound(config_.padded, t.cost);
  one.order = ++orders_;
  one.arrived = now_;
  expect(items_.emplace(verdict.item, one).second, "an item's number was given twice");
}

void queue_schedule::depart() {
  if (items_.empty()) return;
  const auto chosen = std::next(items_.begin(), below(static_cast<std::int64_t>(items_.size())));
  if (chosen->second.at == stage::ended || chosen->second.gone) return;
  chosen->second.gone = true;
  note("leaves " + std::to_string(chosen->first));
  const bool waited = queue_.leave(chosen->first, now_);
  expect(waited == (chosen->second.at == stage::waits), "leave says another state");
  if (waited) end(chosen->first, "cancelled");
}

void queue_schedule::end(serving::item_id item, const std::string& how) {
  known_item& one = items_.at(item);
  expect(one.at != stage::ended, "an item ended twice: " + one.ended + ", " + how);
  note(how + " " + std::to_string(item));
  one.at = stage::ended;
  one.ended = how;
  --alive_;
  alive_bytes_ -= one.terms.bytes;
  if (how == "culprit") expect(one.kind != poison::none, "an innocent item is the culprit");
  if (how == "answered")
    expect(one.kind != poison::fault && one.kind != poison::exception, "a culprit was answered");
}

std::int64_t queue_schedule::service_ns(std::int64_t cost) {
  return 1'000'000 + 300'000 * cost + below(200'000);
}

void queue_schedule::end_batch() {
  const auto ended =
      std::ranges::find_if(running_, [&](const auto& one) { return one.second.ends <= now_; });
  if (ended == running_.end()) return;
  const running one = ended->second;
  running_.erase(ended);
  note("batch " + std::to_string(one.plan.id) + " ends " +
       std::to_string(static_cast<int>(one.how)));
  const bool alone = one.plan.items.size() == 1;
  const known_item& first = items_.at(one.plan.items.front());
  const bool convicted = alone && (one.how == run_end::fault || one.how == run_end::exception);
  queue_.finish(one.plan.id, now_, one.how, convicted ? first.terms.fingerprint : 0);
  if (convicted && one.how == run_end::fault) {
    probation_[first.terms.tenant] = now_ + config_.probation;
    time_point& until = quarantine_[first.terms.fingerprint];
    until = std::max(until, now_ + config_.quarantine);
  }
  if (one.how == run_end::answered || one.how == run_end::failed) {
    for (const serving::item_id item : one.plan.items)
      end(item, items_.at(item).gone         ? "cancelled"
                : one.how == run_end::failed ? "failed"
                                             : "answered");
    return;
  }
  const auto told = queue_.take_ended();
  for (const serving::item_end& item : told) {
    const bool is_culprit = item.how == item_ending::culprit;
    if (is_culprit) expect(alone, "a culprit that was not alone");
    end(item.item, is_culprit                         ? "culprit"
                   : item.how == item_ending::expired ? "expired"
                                                      : "failed");
  }
  // Those whose askers have gone end without a word.
  for (const serving::item_id item : one.plan.items)
    if (items_.at(item).gone && items_.at(item).at != stage::ended) end(item, "cancelled");
}

void queue_schedule::settle() {
  look_at_levels();
  for (;;) {
    before_ = unserved_since_;
    const auto plan = queue_.next(now_);
    for (const serving::item_end& one : queue_.take_ended()) {
      expect(one.how == item_ending::expired, "the queue ended an item for no reason");
      expect(items_.at(one.item).terms.deadline != time_point::max(), "expired without a deadline");
      end(one.item, "expired");
    }
    look_at_levels();
    if (!plan || !wrong_.empty()) break;
    begin(*plan);
    look_at_levels();
  }
  expect(queue_.wake_at() > now_, "it asks to be woken at once, and does nothing");
  const auto busy = static_cast<std::int32_t>(running_.size());
  if (config_.delay.count() == 0 && busy == 0 && !capped_)
    expect(eligible().empty(), "the device is idle while items wait");
}

std::map<serving::item_id, const queue_schedule::known_item*> queue_schedule::eligible() const {
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::pair<std::uint64_t, serving::item_id>>
      heads;
  std::map<serving::item_id, const known_item*> all;
  for (const auto& [id, one] : items_) {
    if (one.at == stage::ended) continue;
    if (one.terms.sequence == 0) {
      if (one.at == stage::waits) all[id] = &one;
      continue;
    }
    auto& head =
        heads.try_emplace({one.terms.tenant, one.terms.sequence}, one.order, id).first->second;
    head = std::min(head, {one.order, id});
  }
  for (const auto& [key, head] : heads)
    if (items_.at(head.second).at == stage::waits) all[head.second] = &items_.at(head.second);
  return all;
}

/// Since when each level has had items and no batch.
void queue_schedule::look_at_levels() {
  std::set<std::uint8_t> with;
  for (const auto& [id, one] : eligible())
    with.insert(one->terms.priority);
  for (const std::uint8_t level : with)
    unserved_since_.try_emplace(level, now_);
  std::erase_if(unserved_since_, [&](const auto& one) { return !with.contains(one.first); });
}

/// Whether it was the turn of this level, as the levels were.
bool queue_schedule::has_turn(std::uint8_t level, const level_times& unserved) const {
  const auto since = unserved.find(level);
  if (since == unserved.end()) return false;
  const auto starved =
      std::ranges::min_element(unserved, {}, [](const auto& one) { return one.second; });
  if (now_ - starved->second >= config_.starve) return since->second == starved->second;
  return since == unserved.begin();
}

/// The first item of a batch is of the level whose turn it is.
void queue_schedule::check_front(const serving::batch_plan& plan) {
  // One with a delay, or whose tenant is limited, may have to wait although its level comes first.
  if (config_.delay.count() > 0 || capped_) return;
  // An item that expired meanwhile may have freed the next one of its sequence.
  const std::uint8_t level = items_.at(plan.items.front()).terms.priority;
  expect(has_turn(level, before_) || has_turn(level, unserved_since_),
         "a level is starved, or a lower priority went first");
}

void queue_schedule::check_members(const serving::batch_plan& plan) {
  std::int64_t cost = 0;
  std::set<std::pair<std::uint64_t, std::uint64_t>> sequences;
  const auto may = eligible();
  std::set<std::uint64_t> tenants;
  bool any_on_probation = false;
  bool waited_long = false;
  for (const serving::item_id id : plan.items) {
    const known_item& one = items_.at(id);
    const serving::item_terms& t = one.terms;
    cost += t.cost;
    tenants.insert(t.tenant);
    const auto bad = probation_.find(t.tenant);
    any_on_probation |= bad != probation_.end() && bad->second > now_;
    expect(t.deadline > now_, "one that has expired was launched");
    if (plan.closed_by != closing::isolation && !running_.empty() && queue_.predicted().known())
      expect(now_ + plan.predicted <= t.deadline, "one was launched that must be too late");
    if (t.sequence != 0)
      expect(sequences.insert({t.tenant, t.sequence}).second, "two of a sequence in one batch");
    expect(one.at == stage::runs || may.contains(id), "one was launched before its turn");
    expect(t.cost == items_.at(plan.items.front()).terms.cost || config_.padded.empty(),
           "two padded sizes in one batch");
    waited_long |= now_ - one.arrived >= config_.delay || t.deadline != time_point::max();
  }
  if (any_on_probation && plan.closed_by != closing::isolation)
    expect(tenants.size() == 1, "one on probation shares a batch");
  const auto size = static_cast<std::int64_t>(plan.items.size());
  expect(cost == plan.cost, "a batch of another cost");
  expect(size <= config_.most_items && (config_.most_cost == 0 || cost <= config_.most_cost),
         "a batch that is too large");
  switch (plan.closed_by) {
    case closing::items:
      expect(size == config_.most_items, "closed by items, and is not full");
      break;
    case closing::cost:
      expect(config_.most_cost > 0, "closed by a cost without limit");
      break;
    case closing::delay:
      expect(config_.delay.count() > 0 && waited_long, "closed before its delay");
      break;
    case closing::free_lane:
      expect(config_.delay.count() == 0, "did not wait");
      break;
    case closing::preferred:
      expect(size <= 3 && config_.delay.count() > 0, "no such size");
      break;
    case closing::deadline:
      expect(queue_.predicted().known(), "by a deadline, without a prediction");
      break;
    case closing::isolation:
      expect(items_.at(plan.items.front()).was_run, "isolates what never ran");
      break;
  }
}

void queue_schedule::begin(const serving::batch_plan& plan) {
  note("batch " + std::to_string(plan.id) + " of " + std::to_string(plan.items.size()) +
       " begins, " + std::string(to_string(plan.closed_by)) + ", first " +
       std::to_string(plan.items.front()));
  expect(!plan.items.empty(), "an empty batch");
  check_members(plan);
  if (plan.closed_by != closing::isolation) check_front(plan);
  running one{plan, {}, run_end::answered};
  std::int64_t beside = 0;
  bool faults = false;
  bool raises = false;
  for (const serving::item_id id : plan.items) {
    known_item& item = items_.at(id);
    for (const auto& [other, r] : running_)
      expect(!std::ranges::count(r.plan.items, id), "an item is in two batches");
    faults |= item.kind == poison::fault;
    raises |= item.kind == poison::exception;
    beside += item.kind == poison::beside_another ? 1 : 0;
    if (item.at == stage::waits) unserved_since_.insert_or_assign(item.terms.priority, now_);
    item.at = stage::runs;
    item.was_run = true;
  }
  if (faults || beside > 1)
    one.how = run_end::fault;
  else if (raises)
    one.how = run_end::exception;
  else if (once_in(15))
    one.how = run_end::aborted;
  else if (stops_ && once_in(10))
    one.how = run_end::failed;
  device_free_ = std::max(device_free_, now_) + nanoseconds(service_ns(plan.cost));
  one.ends = device_free_;
  running_.emplace(plan.id, one);
}

}  // namespace troupe::model
