#pragma once

#include "waiting_items.hpp"

#include <troupe/serving/batch_queue.hpp>

#include <deque>
#include <map>

namespace troupe::serving {

class batch_queue::implementation {
 public:
  explicit implementation(batch_config config);

  // admission.cpp
  admission admit(const item_terms& given, time_point now);
  [[nodiscard]] admission check(item_terms& terms, std::uint32_t& place, time_point now) const;
  void note_overload(refusal why, const item_terms& terms, time_point now) noexcept;

  // batch_queue.cpp
  bool leave(item_id id, time_point now);
  std::optional<batch_plan> next(time_point now);
  void finish(batch_id batch, time_point now, run_end how, std::uint64_t fingerprint,
              std::int64_t failures);
  [[nodiscard]] time_point wake_at() const noexcept;
  [[nodiscard]] queue_facts facts() const;

  // isolation.cpp
  void accuse(item_id id, std::uint64_t fingerprint, time_point now);

  struct offence {
    time_point until{};
    std::chrono::nanoseconds term{0};
    std::int32_t count = 0;
  };
  const batch_config config;
  waiting_items waiting{config};
  prediction predicted;
  std::map<std::uint64_t, offence> quarantined;  ///< by fingerprint
  std::vector<item_end> ended;
  bool closed = false;

 private:
  /// A batch that has begun, or is about to.
  struct run {
    batch_plan plan{};
    std::vector<std::uint32_t> slots{};
    time_point launched{};
    std::optional<time_point> began{};      ///< when its lane was free
    std::chrono::nanoseconds own_limit{0};  ///< its run limit without those before it
    std::uint64_t isolation = 0;            ///< 0: it is no piece
    std::int32_t depth = 0;
    std::int32_t aborted = 0;
  };
  /// Who pays for work that gave no answers.
  struct account {
    std::uint64_t tenant = 0;
    std::uint8_t priority = 0;
    std::int64_t cost = 0;
    std::uint64_t fingerprint = 0;
    bool punished = false;
  };
  /// A batch that failed, while its pieces run.
  struct isolation {
    std::int64_t open = 0;  ///< pieces that have not ended
    bool answered = false;  ///< one has succeeded
    double wasted = 0;      ///< seconds of runs without answers
    std::vector<account> members{};
    std::vector<account> culprits{};
  };

  // admission.cpp
  [[nodiscard]] admission check_item(item_terms& terms, std::uint32_t& place, time_point now) const;
  [[nodiscard]] refusal over_limits(const item_terms& terms) const;
  [[nodiscard]] std::chrono::nanoseconds part_of_batch(std::int64_t cost) const noexcept;
  /// Predicted time of a batch that is full of such items.
  [[nodiscard]] std::chrono::nanoseconds full_batch(std::int64_t cost) const noexcept;
  /// Until what is in flight has ended, as predicted.
  [[nodiscard]] std::chrono::nanoseconds in_flight_time(time_point now) const noexcept;
  /// Predictions refuse only while batches run that correct them: one that is too long could
  /// otherwise refuse all for ever.
  [[nodiscard]] bool trusted(time_point now) const noexcept;

  // batch_queue.cpp
  [[nodiscard]] bool has_room() const noexcept { return occupied_ < config.in_flight; }
  [[nodiscard]] std::chrono::nanoseconds least_time(const pool& from, std::int64_t most,
                                                    time_point start) const noexcept;
  run fill(pool& from, closing why, time_point now);
  batch_plan launch(run one, time_point now);
  void end_item(std::uint32_t slot, time_point now, item_ending how);
  void end_run(const run& one, time_point now, double seconds);

  // isolation.cpp
  void split(const run& failed, time_point now, run_end how, double seconds);
  void run_again(run lost, time_point now, double seconds);
  void convict(const run& failed, time_point now, run_end how, std::uint64_t fingerprint,
               double seconds);
  void piece_ended(std::uint64_t of, time_point now);
  void punish(const account& who, time_point now);

  std::map<batch_id, run> runs_;  ///< in the order in which they were launched
  std::deque<run> pieces_;        ///< to be launched at once
  std::map<std::uint64_t, isolation> isolations_;
  std::int32_t occupied_ = 0;  ///< batches, and batches that are in pieces
  std::uint64_t numbers_ = 0;
  time_point now_{};
  time_point last_sample_{};
  time_point last_arrival_{};
  std::optional<time_point> overloaded_at_{};  ///< the last refusal for want of time or room
  double arrival_gap_ = 0;                     ///< seconds, mean
  double failover_;                            ///< seconds
  std::map<std::int64_t, std::uint64_t> splits_;
  queue_facts facts_;
};

}  // namespace troupe::serving
