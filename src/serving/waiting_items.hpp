#pragma once

#include "fair_order.hpp"

#include <troupe/serving/terms.hpp>

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

namespace troupe::serving {

struct tenant;

enum class item_state : std::uint8_t {
  free,
  behind,   ///< another item of its sequence comes first
  waiting,  ///< a batch may have it
  running,
};

/// An accepted item.
struct item {
  item_terms terms;
  std::uint32_t generation = 1;
  item_state state = item_state::free;
  bool gone = false;        ///< its asker has left while it ran
  std::uint32_t place = 0;  ///< of its padded size in `batch_config::padded`; 0 if packed
  tenant* owner = nullptr;
  time_point arrived{};
  time_point due{};                       ///< when its delay is over
  std::chrono::nanoseconds predicted{0};  ///< its part of a full batch, as its admission saw it
  double charged = 0;                     ///< seconds, in its lane's tag
  std::uint64_t order = 0;
};

/// The items of one tenant in one level, and its account there.
struct lane {
  tenant* owner = nullptr;
  std::uint8_t priority = 0;
  double tag = 0;  ///< virtual time at which its next item starts
  std::int64_t waiting = 0;
  std::vector<std::set<waiting_entry>> by_place;
  std::vector<seat> seats;  ///< by place, in the pool that the items are in
};

/// A priority.
struct level {
  std::uint8_t priority = 0;
  double virtual_time = 0;           ///< the greatest tag at which an item has started
  time_point unserved_since{};       ///< while items wait
  std::chrono::nanoseconds held{0};  ///< predicted, of its items that have not begun
  std::int64_t active = 0;           ///< lanes with waiting items
};

struct group;

/// Items that may share a batch: they have one padded size, and belong to all tenants or to one on
/// probation.
struct pool {
  std::int64_t count = 0;
  std::int64_t cost = 0;
  std::set<std::pair<time_point, group*>> due;  ///< by the earliest of each group
  std::map<std::uint8_t, fair_order> lanes;     ///< by priority
};

/// The items of a tenant that have one padded size. All of them are in one pool, or in none.
struct group {
  std::int64_t count = 0;
  std::int64_t cost = 0;
  std::set<std::pair<time_point, std::uint32_t>> due;
  pool* in = nullptr;
  time_point key = time_point::max();  ///< in `in->due`, if it has items
};

struct tenant {
  std::uint64_t id = 0;
  double weight = 1;
  std::int64_t items = 0;
  std::int64_t bytes = 0;
  std::chrono::nanoseconds held{0};  ///< predicted, of its items that have not ended
  double device_seconds = 0;
  time_point capped_until{};
  time_point probation_until{};
  bool capped = false;
  bool on_probation = false;
  std::map<std::uint8_t, lane> lanes;
  std::vector<group> groups;  ///< by padded size
  std::vector<pool> own;      ///< by padded size, for a time on probation
  std::list<std::uint64_t>::iterator age;
};

/// Who waits, and in which order: priority, then fair share, then deadline.
class waiting_items {
 public:
  explicit waiting_items(const batch_config& config);

  [[nodiscard]] item& at(std::uint32_t slot) noexcept { return items_[slot]; }
  [[nodiscard]] static std::uint32_t slot_of(item_id id) noexcept {
    return static_cast<std::uint32_t>(id);
  }
  /// Null if the item has ended.
  [[nodiscard]] item* find(item_id id) noexcept;
  [[nodiscard]] item_id id_of(std::uint32_t slot) const noexcept {
    return static_cast<item_id>(items_[slot].generation) << 32 | slot;
  }

  /// Makes an item, in order behind its sequence.
  std::uint32_t add(const item_terms& terms, std::uint32_t place, time_point now, time_point due,
                    std::chrono::nanoseconds predicted);
  /// The item has ended: the next one of its sequence may begin.
  void end(std::uint32_t slot, time_point now);
  /// The item has begun in a batch; `seconds` are charged to its tenant.
  void begin(std::uint32_t slot, time_point now, double seconds);
  /// Corrects what the item was charged with.
  void charge(item& one, double seconds);
  /// Charges a tenant for work of items that may have ended.
  void charge(std::uint64_t tenant, std::uint8_t priority, double seconds);

  void share(const tenant_shares& shares);
  void put_on_probation(std::uint64_t id, time_point until);
  /// Device time that a batch takes of its tenants' limits.
  void spend(tenant& who, time_point now, double seconds);
  /// Ends what was limited until now.
  void pass(time_point now);

  /// The latest deadline of the items that wait; `max()` if one has none.
  [[nodiscard]] time_point latest() const noexcept;
  /// Items whose deadline has passed, the earliest first.
  [[nodiscard]] std::optional<std::uint32_t> expired(time_point now) const;

  /// Why a batch of this pool should begin now, if one should.
  [[nodiscard]] std::optional<closing> ready(const pool& all, time_point now,
                                             double arrivals_a_second, double of_batch) const;
  template <class F>
  void each_pool(F&& f) {
    for (pool& open : shared_)
      f(open);
    for (tenant* one : on_probation_)
      for (pool& own : one->own)
        f(own);
  }
  /// The levels in the order in which they are served now.
  [[nodiscard]] std::vector<level*> levels(time_point now);
  /// The next item of a level that is in the pool; null if there is none.
  [[nodiscard]] static const seat* first(const level& in, const pool& from) noexcept;
  /// When `pass`, `expired` or, if there is room for a batch, `ready` next say something else.
  [[nodiscard]] time_point wake_at(bool room) const noexcept;

  // For admission.
  [[nodiscard]] const tenant* known(std::uint64_t id) const;
  [[nodiscard]] double weight_of(std::uint64_t id) const;
  [[nodiscard]] std::chrono::nanoseconds held_before(std::uint8_t priority) const noexcept;
  [[nodiscard]] double busy_weight() const noexcept { return busy_weight_; }
  [[nodiscard]] std::size_t tenant_count() const noexcept { return tenants_.size(); }
  [[nodiscard]] double most_device_share() const noexcept { return shares_.most_device_share; }
  [[nodiscard]] std::vector<std::pair<std::uint64_t, double>> device_seconds() const;

  std::int64_t held_items = 0;
  std::int64_t held_bytes = 0;
  std::int64_t waiting_count = 0;  ///< not in a batch
  std::int64_t waiting_cost = 0;
  std::chrono::nanoseconds waiting_time{0};

 private:
  struct sequence_key {
    std::uint64_t tenant, sequence;
    bool operator==(const sequence_key&) const = default;
  };
  struct sequence_hash {
    std::size_t operator()(const sequence_key& k) const noexcept {
      return std::hash<std::uint64_t>()(k.tenant * 0x9e3779b97f4a7c15U ^ k.sequence);
    }
  };

  tenant& tenant_of(std::uint64_t id);
  void offer(std::uint32_t slot, time_point now);
  void withdraw(std::uint32_t slot);
  void leave_waiting(item& one);
  void place(tenant& who);
  void move(group& g, pool* to);
  void renew_key(group& g);
  lane& lane_of(item& one);
  /// Puts the lane where its tag and its first item say.
  static void renew_seat(lane& l, std::size_t place);
  void renew_seats(lane& l);

  const batch_config& config_;
  std::size_t places_;
  tenant_shares shares_;
  std::vector<item> items_;
  std::vector<std::uint32_t> free_;
  std::uint64_t orders_ = 0;
  std::unordered_map<std::uint64_t, tenant> tenants_;
  std::list<std::uint64_t> ages_;  ///< tenants, the least recent first
  double busy_weight_ = 0;         ///< the tenants with items together
  std::map<std::uint8_t, level> levels_;
  std::vector<pool> shared_;
  std::vector<tenant*> on_probation_;
  std::set<std::pair<time_point, tenant*>> capped_;
  std::set<std::pair<time_point, std::uint32_t>> deadlines_;
  std::unordered_map<sequence_key, std::deque<std::uint32_t>, sequence_hash> sequences_;
};

}  // namespace troupe::serving
