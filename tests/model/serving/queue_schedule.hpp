#pragma once

#include <troupe/serving/batch_queue.hpp>

#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace troupe::model {

/// A batch queue before a device that is simulated, under a virtual clock: items arrive, leave, are
/// poison, batches are lost. It looks at what the queue does from outside and says which promise
/// was broken first.
class queue_schedule {
 public:
  queue_schedule(std::uint64_t seed, bool print);
  /// The first promise that was broken; empty if none was.
  std::string run();

 private:
  using nanoseconds = std::chrono::nanoseconds;
  using time_point = serving::time_point;

  using level_times = std::map<std::uint8_t, time_point>;

  enum class stage : std::uint8_t { waits, runs, ended };
  enum class poison : std::uint8_t { none, fault, exception, beside_another };
  struct known_item {
    serving::item_terms terms;
    std::uint64_t order = 0;
    stage at = stage::waits;
    time_point arrived{};
    poison kind{};
    bool gone = false;
    bool was_run = false;
    std::string ended;
  };
  struct running {
    serving::batch_plan plan;
    time_point ends;
    serving::run_end how{};
  };

  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  bool once_in(std::int64_t n) { return below(n) == 0; }
  void expect(bool holds, const std::string& rule);
  void note(const std::string& line);

  serving::batch_config draw_config();
  void arrive();
  void depart();
  void end_batch();
  void settle();
  void begin(const serving::batch_plan& plan);
  void check_front(const serving::batch_plan& plan);
  [[nodiscard]] bool has_turn(std::uint8_t level, const level_times& unserved) const;
  void check_members(const serving::batch_plan& plan);
  void end(serving::item_id item, const std::string& how);
  /// The items that a batch may have now.
  [[nodiscard]] std::map<serving::item_id, const known_item*> eligible() const;
  void look_at_levels();
  [[nodiscard]] std::int64_t service_ns(std::int64_t cost);

  std::mt19937_64 random_;
  bool print_;
  std::ostringstream trace_;
  std::string wrong_;
  serving::batch_config config_;
  serving::batch_queue queue_;
  bool capped_;
  bool stops_;
  time_point now_{std::chrono::hours(1)};
  time_point device_free_{};
  std::map<serving::item_id, known_item> items_;
  std::map<serving::batch_id, running> running_;
  level_times unserved_since_;
  level_times before_;  ///< the last call of `next`
  std::map<std::uint64_t, time_point> probation_;
  std::map<std::uint64_t, time_point> quarantine_;
  std::uint64_t orders_ = 0;
  std::uint64_t accepted_ = 0;
  std::int64_t alive_ = 0;
  std::int64_t alive_bytes_ = 0;
};

}  // namespace troupe::model
