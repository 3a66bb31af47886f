#pragma once

#include "device/submission/record.hpp"

#include <troupe/device/health.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace troupe {

/// Which requests are refused, because the same request has ended two workers.
///
/// It is the same where its bytes are and what it reads is: each request that writes a buffer gives
/// it new content, whoever sends the request that reads it. What the program writes in place, in
/// memory of the host, nobody sees: a request that reads that is never the same.
///
/// Content is counted only once a request has been named for a loss; until then all this costs a
/// sender one load. Senders count and look without a lock, relaxed: which of two that send at once
/// comes first, nobody can say. One that sends in the very moment when the counting begins may be
/// missed; then what it writes counts as the old content.
class quarantine_book {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// `term`: for how long a request is refused at first. Each fault after that doubles it. Zero:
  /// none ever is.
  explicit quarantine_book(std::chrono::nanoseconds term) noexcept : term_(term) {}

  /// True once content is counted.
  [[nodiscard]] bool counts() const noexcept { return counts_.load(std::memory_order_relaxed); }
  void begin_to_count() noexcept { counts_.store(true, std::memory_order_relaxed); }

  /// Finds out what a request is known by, from its bytes' digest and what it reads; 0, nothing,
  /// where it is exempt.
  void recognise(record& r, std::uint64_t digest) const noexcept;
  /// Gives what it writes new content. Of each request, in the order sent.
  void note_writes(const record& r) noexcept;

  /// Asked before a request is sent. Once its term is over, one at a time is let through, on trial.
  /// \errors `poisonous`
  [[nodiscard]] result<void> admit(record& r, time_point now);
  /// One on trial has its answer. Well, and all is forgotten.
  void end_trial(const record& r, bool well);
  /// It was named for the loss of a worker. `text`: as errors show it.
  void note_fault(const record& r, std::string text, time_point now);

  [[nodiscard]] std::vector<quarantined_request> list() const;
  /// Forgets the request of that number, and all its faults. False where there is none.
  bool forgive(std::uint64_t identity);
  void forgive_all();

 private:
  struct suspect {
    quarantined_request what;
    std::chrono::nanoseconds term{};
    bool on_trial = false;
  };

  [[nodiscard]] static std::size_t place_of(const detail::buffer_ref& buffer) noexcept;
  [[nodiscard]] suspect* find(std::uint64_t identity);

  static constexpr std::size_t contents = 1024;

  const std::chrono::nanoseconds term_;
  std::atomic<bool> counts_{false};
  // By the buffer's address. Where two share one, each has new content more often than it should.
  std::array<std::atomic<std::uint32_t>, contents> contents_{};
  mutable std::mutex mutex_;  // guards the rest
  std::vector<suspect> suspects_;
};

}  // namespace troupe
