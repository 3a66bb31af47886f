#pragma once

#include "executioner.hpp"
#include "program.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace troupe::kills {

/// The observations of a survivor.
struct sights {
  std::int64_t kills = 0;
  std::int64_t stepped = 0;  ///< among them, those between two of the worker's instructions
  std::int64_t requests = 0;
  std::int64_t succeeded = 0;
  std::int64_t aborted = 0;
  std::int64_t tainted = 0;
  std::int64_t found_no_room = 0;
  std::uint64_t run_again = 0;
  std::int64_t rests = 0;
  // The moments of the kills: in the worker, and the program's activity.
  std::int64_t asleep = 0;
  std::int64_t running = 0;
  std::int64_t answering = 0;
  std::int64_t while_sending = 0;
  std::int64_t while_waiting = 0;
  std::chrono::nanoseconds worst_recovery{0};
};

/// A program whose workers are killed at random moments: by a timer's signal, which comes between
/// any two instructions of its own, or by themselves between any two of theirs. It keeps sending
/// all the time, and compares the answers with the runs:
///
///  - each request is answered once; a success was run, and its answer is what the cell held then;
///  - a request that must not run again has begun at most once, any other at most twice, and a
///    refused one never;
///  - a thread that sleeps until a completion is woken by it;
///  - at rest every slot is free, and there as often as it should be;
///  - after each kill the next worker answers within `recovery_bound`.
class survivor {
 public:
  static constexpr std::chrono::seconds recovery_bound{2};

  explicit survivor(std::uint64_t seed);

  /// Until so many workers have been killed. \returns what was wrong, or nothing
  [[nodiscard]] std::string outlive(std::int64_t kills);
  [[nodiscard]] const sights& seen() const noexcept { return seen_; }

 private:
  using clock = std::chrono::steady_clock;
  enum class outcome : std::uint8_t { none, success, refused, aborted, tainted };

  struct request {
    program::drawn what;
    outcome how = outcome::none;
  };

  void step();
  void send_one();
  void note(std::size_t place, const std::byte* reply, const error* failure);
  void check_value(const program::drawn& what, std::int64_t value);
  void sleep_until_told();
  void turn();
  void come_to_rest();
  void judge(const request& r);
  void check_slots();
  [[nodiscard]] bool has_recovered() const noexcept;
  void doom(executioner& axe);
  [[nodiscard]] clock::time_point died_at() noexcept;
  void break_with(std::string why) {
    if (wrong_.empty()) wrong_ = std::move(why);
  }

  /// The value of a lane's cell, as far as known: after a failure, nothing until the next `put`.
  struct cell {
    std::int64_t value = 0;
    std::int64_t uncertain_until = 0;  ///< the number of the last request that failed
    bool known = false;
  };

  std::mt19937_64 random_;
  journal fates_;
  program program_;
  std::vector<request> since_rest_;
  std::int64_t next_ = 1;
  std::array<cell, program::lanes> cells_;
  std::uint64_t generation_ = 0;  // that worker's, which will be killed
  bool by_itself_ = false;        // it dies between two instructions of its own
  clock::time_point recovered_at_{};
  sights seen_;
  std::string wrong_;
};

}  // namespace troupe::kills
