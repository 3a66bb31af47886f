#pragma once

#include "os/unique_fd.hpp"
#include "steps.hpp"

#include <chrono>
#include <cstdint>
#include <random>
#include <string>

namespace troupe::kills {

/// The observations of the judge of killed programs.
struct remains {
  std::int64_t kills = 0;
  std::int64_t stepped = 0;  ///< among them, those between two instructions of a sender
  std::int64_t published = 0;
  std::int64_t completed = 0;
  std::int64_t cut_short = 0;  ///< requests that had begun and have no mark
  std::int64_t unread = 0;     ///< requests that had not begun
  std::int64_t answered = 0;
  std::int64_t torn = 0;                         ///< programs that left a ticket without its entry
  std::chrono::nanoseconds longest_survival{0};  ///< of a worker
};

/// Kills programs, which are forks of this process, at random moments, or makes a sender's thread
/// do so between any two instructions: two threads send and wait, a third one plays the device's,
/// two workers serve. Then judges by their remains, the mailbox, the worker's segment and the
/// journal:
///
///  - every worker has ended within `survival_bound`;
///  - every entry of the ring is whole and in its place, at most one ticket for each sender has
///    none, and nothing behind the first such was run;
///  - in each lane, the requests counted by the mark have run once, the next one at most once, and
///    no other;
///  - an unfinished request has its slot for itself;
///  - no request was answered twice, and a successful one was run.
class orphans {
 public:
  static constexpr std::chrono::seconds survival_bound{2};

  explicit orphans(std::uint64_t seed) : random_(seed) {}

  /// Until so many programs have been killed. \returns what was wrong, or nothing
  [[nodiscard]] std::string outlive(std::int64_t kills);
  [[nodiscard]] const remains& seen() const noexcept { return seen_; }

 private:
  /// A program hands this over when it begins: descriptors of its mailbox and its worker's segment.
  struct estate {
    os::unique_fd mailbox;
    os::unique_fd segment;
  };
  [[nodiscard]] std::string kill_one();
  [[noreturn]] void live(const os::unique_fd& heir, std::uint64_t seed);
  [[nodiscard]] std::string judge(const estate& left);
  [[nodiscard]] std::string judge_answers();

  std::mt19937_64 random_;
  journal fates_;
  remains seen_;
};

}  // namespace troupe::kills
