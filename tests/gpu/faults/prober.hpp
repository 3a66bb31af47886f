#pragma once

#include "subject.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace troupe::gpu_test {

/// Sends the device one small question after the other and records when each right answer came,
/// with a lane kept free for the moment when a new worker serves: a question behind a request of a
/// lost worker has to wait for that worker's end, and does not show how soon the device serves
/// again.
class prober {
 public:
  using clock = std::chrono::steady_clock;

  struct counts {
    std::uint64_t asked = 0;
    std::uint64_t right = 0;
    std::uint64_t wrong = 0;
    std::uint64_t blamed = 0;  ///< took the blame for a fault
    std::uint64_t failed = 0;  ///< with any other error
    std::uint64_t lost = 0;
  };

  /// `always`: for the questions sent all the time; `spare`: not used otherwise.
  prober(subject& s, const library_actor& always, const library_actor& spare);
  prober(const prober&) = delete;
  prober& operator=(const prober&) = delete;
  ~prober();

  /// When the first right answer came after `since`, given by a worker of at least that generation.
  [[nodiscard]] std::optional<clock::time_point> first_answer(clock::time_point since,
                                                              std::uint64_t generation);
  /// Forgets when answers came so far, so that its notes do not grow without end.
  void forget();
  /// Stops asking and waits for what is in flight.
  [[nodiscard]] counts finish();

 private:
  struct right_answer {
    clock::time_point at;
    std::uint64_t generation = 0;
  };
  struct shared_notes;

  void run(const std::stop_token& stop);
  void ask(const library_actor& where);

  subject& subject_;
  library_actor always_;
  library_actor spare_;
  std::shared_ptr<shared_notes> notes_;
  std::deque<future<void>> in_flight_;
  counts counts_;
  std::jthread thread_;
};

}  // namespace troupe::gpu_test
