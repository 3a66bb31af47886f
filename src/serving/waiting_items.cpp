#include "waiting_items.hpp"

#include "seconds.hpp"

#include <algorithm>

namespace troupe::serving {

namespace {

constexpr std::size_t most_tenants = 4096;

}  // namespace

waiting_items::waiting_items(const batch_config& config)
    : config_(config), places_(std::max<std::size_t>(config.padded.size(), 1)), shared_(places_) {}

item* waiting_items::find(item_id id) noexcept {
  const std::uint32_t slot = slot_of(id);
  if (slot >= items_.size() || items_[slot].state == item_state::free || id_of(slot) != id)
    return nullptr;
  return &items_[slot];
}

// --- Tenants

double waiting_items::weight_of(std::uint64_t id) const {
  for (const tenant_shares::share& one : shares_.weights)
    if (one.tenant == id) return one.weight;
  return shares_.others;
}

const tenant* waiting_items::known(std::uint64_t id) const {
  const auto found = tenants_.find(id);
  return found == tenants_.end() ? nullptr : &found->second;
}

tenant& waiting_items::tenant_of(std::uint64_t id) {
  if (const auto found = tenants_.find(id); found != tenants_.end()) {
    ages_.splice(ages_.end(), ages_, found->second.age);
    return found->second;
  }
  // The least recent one without items goes. One that a device still works for, or that is
  // limited, is known as long as it is.
  for (auto old = ages_.begin(); tenants_.size() >= most_tenants && old != ages_.end();) {
    const auto found = tenants_.find(*old);
    if (found->second.items > 0 || found->second.capped || found->second.on_probation) {
      ++old;
      continue;
    }
    tenants_.erase(found);
    old = ages_.erase(old);
  }
  tenant& made = tenants_[id];
  made.id = id;
  made.weight = weight_of(id);
  made.groups.resize(places_);
  made.own.resize(places_);
  made.age = ages_.insert(ages_.end(), id);
  place(made);
  return made;
}

void waiting_items::share(const tenant_shares& shares) {
  shares_ = shares;
  busy_weight_ = 0;
  for (auto& [id, one] : tenants_) {
    one.weight = weight_of(id);
    if (one.items > 0) busy_weight_ += one.weight;
  }
}

/// Puts its groups into the pools where they belong.
void waiting_items::place(tenant& who) {
  for (std::size_t i = 0; i < places_; ++i) {
    pool& open = who.on_probation ? who.own[i] : shared_[i];
    move(who.groups[i], who.capped ? nullptr : &open);
    for (auto& [priority, l] : who.lanes)
      renew_seat(l, i);
  }
}

void waiting_items::move(group& g, pool* to) {
  if (g.in == to) return;
  if (g.in != nullptr && g.count > 0) {
    g.in->count -= g.count;
    g.in->cost -= g.cost;
    g.in->due.erase({g.key, &g});
  }
  g.in = to;
  g.key = time_point::max();
  if (to == nullptr || g.count == 0) return;
  to->count += g.count;
  to->cost += g.cost;
  g.key = g.due.begin()->first;
  to->due.insert({g.key, &g});
}

void waiting_items::renew_key(group& g) {
  const time_point key = g.count > 0 ? g.due.begin()->first : time_point::max();
  if (g.in == nullptr || key == g.key) return;
  g.in->due.erase({g.key, &g});
  g.key = key;
  if (g.count > 0) g.in->due.insert({g.key, &g});
}

void waiting_items::put_on_probation(std::uint64_t id, time_point until) {
  const auto found = tenants_.find(id);
  if (found == tenants_.end()) return;
  tenant& who = found->second;
  who.probation_until = until;
  if (!who.on_probation) on_probation_.push_back(&who);
  who.on_probation = true;
  place(who);
}

void waiting_items::spend(tenant& who, time_point now, double seconds) {
  if (shares_.most_device_share <= 0) return;
  if (who.capped) capped_.erase({who.capped_until, &who});
  who.capped_until = std::max(who.capped_until, now - std::chrono::seconds(1)) +
                     from_seconds(seconds / shares_.most_device_share);
  who.capped = who.capped_until > now;
  if (who.capped) capped_.insert({who.capped_until, &who});
  place(who);
}

void waiting_items::pass(time_point now) {
  while (!capped_.empty() && capped_.begin()->first <= now) {
    tenant& who = *capped_.begin()->second;
    capped_.erase(capped_.begin());
    who.capped = false;
    place(who);
  }
  std::erase_if(on_probation_, [&](tenant* who) {
    if (who->probation_until > now) return false;
    who->on_probation = false;
    place(*who);
    return true;
  });
}

// --- Items

std::uint32_t waiting_items::add(const item_terms& terms, std::uint32_t place, time_point now,
                                 time_point due, std::chrono::nanoseconds predicted) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(items_.size()));
    items_.emplace_back();
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  tenant& owner = tenant_of(terms.tenant);
  item& one = items_[slot];
  one = {.terms = terms,
         .generation = one.generation,
         .state = item_state::behind,
         .place = place,
         .owner = &owner,
         .arrived = now,
         .due = due,
         .predicted = predicted,
         .order = ++orders_};
  if (owner.items++ == 0) busy_weight_ += owner.weight;
  owner.bytes += terms.bytes;
  owner.held += predicted;
  ++held_items;
  held_bytes += terms.bytes;
  ++waiting_count;
  waiting_cost += terms.cost;
  waiting_time += predicted;
  levels_[terms.priority].priority = terms.priority;
  levels_[terms.priority].held += predicted;
  if (terms.deadline != time_point::max()) deadlines_.insert({terms.deadline, slot});
  if (terms.sequence != 0) {
    auto& line = sequences_[{terms.tenant, terms.sequence}];
    line.push_back(slot);
    if (line.size() > 1) return slot;
  }
  offer(slot, now);
  return slot;
}

lane& waiting_items::lane_of(item& one) {
  lane& l = one.owner->lanes[one.terms.priority];
  if (l.owner == nullptr) {
    l.owner = one.owner;
    l.priority = one.terms.priority;
    l.by_place.resize(places_);
    l.seats.resize(places_);
  }
  return l;
}

void waiting_items::renew_seat(lane& l, std::size_t place) {
  seat& one = l.seats[place];
  pool* const in = l.owner->groups[place].in;
  fair_order* const to =
      in == nullptr || l.by_place[place].empty() ? nullptr : &in->lanes[l.priority];
  if (one.in != nullptr && one.in != to) one.in->remove(one);
  if (to == nullptr) return;
  one.tag = l.tag;
  one.head = *l.by_place[place].begin();
  to->put(one);
}

void waiting_items::renew_seats(lane& l) {
  for (std::size_t place = 0; place < places_; ++place)
    renew_seat(l, place);
}

void waiting_items::offer(std::uint32_t slot, time_point now) {
  item& one = items_[slot];
  one.state = item_state::waiting;
  level& in = levels_[one.terms.priority];
  lane& l = lane_of(one);
  if (l.waiting++ == 0) {
    // One that was idle starts now: it has saved nothing.
    l.tag = std::max(l.tag, in.virtual_time);
    if (in.active++ == 0) in.unserved_since = now;
  }
  l.by_place[one.place].insert({one.terms.deadline, one.order, slot});
  renew_seat(l, one.place);
  group& g = one.owner->groups[one.place];
  g.due.insert({one.due, slot});
  ++g.count;
  g.cost += one.terms.cost;
  if (g.in == nullptr) return;
  ++g.in->count;
  g.in->cost += one.terms.cost;
  renew_key(g);
}

void waiting_items::withdraw(std::uint32_t slot) {
  item& one = items_[slot];
  level& in = levels_[one.terms.priority];
  lane& l = lane_of(one);
  l.by_place[one.place].erase({one.terms.deadline, one.order, slot});
  if (--l.waiting == 0) --in.active;
  renew_seat(l, one.place);
  group& g = one.owner->groups[one.place];
  g.due.erase({one.due, slot});
  --g.count;
  g.cost -= one.terms.cost;
  if (g.in == nullptr) return;
  --g.in->count;
  g.in->cost -= one.terms.cost;
  renew_key(g);
}

/// It is in a batch now, or has ended.
void waiting_items::leave_waiting(item& one) {
  --waiting_count;
  waiting_cost -= one.terms.cost;
  waiting_time -= one.predicted;
  levels_[one.terms.priority].held -= one.predicted;
}

void waiting_items::begin(std::uint32_t slot, time_point now, double seconds) {
  item& one = items_[slot];
  if (one.state == item_state::waiting) {
    withdraw(slot);
    leave_waiting(one);
    if (one.terms.deadline != time_point::max()) deadlines_.erase({one.terms.deadline, slot});
    level& in = levels_[one.terms.priority];
    in.virtual_time = std::max(in.virtual_time, lane_of(one).tag);
    in.unserved_since = now;
    one.state = item_state::running;
  }
  one.charged = 0;
  charge(one, seconds);
}

void waiting_items::charge(item& one, double seconds) {
  lane& l = lane_of(one);
  l.tag += (seconds - one.charged) / one.owner->weight;
  renew_seats(l);
  one.owner->device_seconds += seconds - one.charged;
  one.charged = seconds;
}

void waiting_items::charge(std::uint64_t tenant, std::uint8_t priority, double seconds) {
  const auto found = tenants_.find(tenant);
  if (found == tenants_.end()) return;
  found->second.device_seconds += seconds;
  if (const auto l = found->second.lanes.find(priority); l != found->second.lanes.end()) {
    l->second.tag += seconds / found->second.weight;
    renew_seats(l->second);
  }
}

void waiting_items::end(std::uint32_t slot, time_point now) {
  item& one = items_[slot];
  // The next one of its sequence first: a level that always had items is unserved since the first.
  if (one.terms.sequence != 0) {
    const auto line = sequences_.find({one.terms.tenant, one.terms.sequence});
    const bool was_first = line->second.front() == slot;
    std::erase(line->second, slot);
    if (line->second.empty())
      sequences_.erase(line);
    else if (was_first)
      offer(line->second.front(), now);
  }
  if (one.state == item_state::waiting) withdraw(slot);
  if (one.state != item_state::running) {
    leave_waiting(one);
    if (one.terms.deadline != time_point::max()) deadlines_.erase({one.terms.deadline, slot});
  }
  tenant& owner = *one.owner;
  if (--owner.items == 0) busy_weight_ -= owner.weight;
  owner.bytes -= one.terms.bytes;
  owner.held -= one.predicted;
  --held_items;
  held_bytes -= one.terms.bytes;
  one.state = item_state::free;
  ++one.generation;
  free_.push_back(slot);
}

// --- Order

time_point waiting_items::latest() const noexcept {
  if (static_cast<std::int64_t>(deadlines_.size()) < waiting_count) return time_point::max();
  return deadlines_.empty() ? time_point::max() : deadlines_.rbegin()->first;
}

std::optional<std::uint32_t> waiting_items::expired(time_point now) const {
  if (deadlines_.empty() || deadlines_.begin()->first > now) return std::nullopt;
  return deadlines_.begin()->second;
}

std::optional<closing> waiting_items::ready(const pool& all, time_point now,
                                            double arrivals_a_second, double of_batch) const {
  if (all.count == 0) return std::nullopt;
  if (all.count >= config_.most_items) return closing::items;
  if (config_.most_cost > 0 && all.cost >= config_.most_cost) return closing::cost;
  if (all.due.begin()->first <= now)
    return config_.delay.count() > 0 ? closing::delay : closing::free_lane;
  // Those that wait would each lose the time until the next preferred size is reached; each that
  // comes meanwhile would save a part of another batch's a. Both are proportional to their number.
  const bool preferred = !config_.preferred.empty() && all.count >= config_.preferred.front();
  if (preferred && static_cast<double>(all.count) > of_batch * arrivals_a_second)
    return closing::preferred;
  return std::nullopt;
}

std::vector<level*> waiting_items::levels(time_point now) {
  std::vector<level*> all;
  for (auto& [priority, one] : levels_)
    if (one.active > 0) all.push_back(&one);
  const auto turn = [&](const level* one) {
    return now - one->unserved_since >= config_.starve ? one->unserved_since : time_point::max();
  };
  if (all.size() > 1) std::ranges::stable_sort(all, {}, turn);
  return all;
}

const seat* waiting_items::first(const level& in, const pool& from) noexcept {
  const auto lanes = from.lanes.find(in.priority);
  return lanes == from.lanes.end() ? nullptr : lanes->second.first();
}

time_point waiting_items::wake_at(bool room) const noexcept {
  time_point at = time_point::max();
  if (!deadlines_.empty()) at = deadlines_.begin()->first;
  if (!room) return at;
  if (!capped_.empty()) at = std::min(at, capped_.begin()->first);
  const auto wait_for = [&](const pool& all) {
    if (all.count > 0) at = std::min(at, all.due.begin()->first);
  };
  for (const pool& all : shared_)
    wait_for(all);
  for (const tenant* one : on_probation_)
    for (const pool& all : one->own)
      wait_for(all);
  return at;
}

std::chrono::nanoseconds waiting_items::held_before(std::uint8_t priority) const noexcept {
  std::chrono::nanoseconds sum{0};
  for (const auto& [of, one] : levels_)
    if (of <= priority) sum += one.held;
  return sum;
}

std::vector<std::pair<std::uint64_t, double>> waiting_items::device_seconds() const {
  std::vector<std::pair<std::uint64_t, double>> all;
  all.reserve(tenants_.size());
  for (const auto& [id, one] : tenants_)
    all.emplace_back(id, one.device_seconds);
  return all;
}

}  // namespace troupe::serving
