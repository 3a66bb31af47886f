#pragma once

#include "device/mailbox/record.hpp"

#include <troupe/base/unique_function.hpp>
#include <troupe/device/health.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// The requests that are refused because the same request has ended two workers.
///
/// Two requests are the same if their bytes and their inputs are: each request that writes a buffer
/// gives it new content, for readers of any sender. Writes of the program to host memory are not
/// seen: a request that reads such memory never counts as the same.
///
/// Content is counted only once a request was named for a loss; until then a sender pays one load.
/// Senders count and look without a lock, relaxed: the order of two concurrent sends is undefined
/// anyway. A send at the very moment when counting begins may be missed; then its outputs count as
/// the old content.
class quarantine_book {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// `term`: how long a request is refused at first. Each later fault doubles it. Zero: no request
  /// is refused.
  explicit quarantine_book(std::chrono::nanoseconds term) noexcept : term_(term) {}

  /// True once content is counted.
  [[nodiscard]] bool counts() const noexcept { return counts_.load(std::memory_order_relaxed); }
  void begin_to_count() noexcept { counts_.store(true, std::memory_order_relaxed); }

  /// Computes the identity of a request from the digest of its bytes and its inputs; 0, none, if it
  /// is exempt.
  void recognise(record& r, std::uint64_t digest) const noexcept;
  /// Gives its outputs new content. Call it for each request, in the order sent.
  void note_writes(const record& r) noexcept;

  /// Call before a request is sent. After its term, one at a time is let through, on trial.
  /// \errors `poisonous`
  [[nodiscard]] result<void> admit(record& r, time_point now);
  /// A request on trial was answered. If it did well, its faults are forgotten.
  void end_trial(const record& r, bool well);
  /// The request was named for the loss of a worker. `text`: as errors show it. \returns its
  /// quarantine, with this time as `since`, if it is refused from now on
  [[nodiscard]] std::optional<quarantined_request> note_fault(const record& r, std::string text,
                                                              time_point now);

  [[nodiscard]] std::vector<quarantined_request> list() const;
  /// Forgets the request of that number, and all its faults. False if there is none.
  bool forgive(std::uint64_t identity);
  /// False if there was none.
  bool forgive_all();

  /// Hears of each request that was in quarantine and is no longer refused; without the lock, on
  /// any thread. Must not throw. Set once, before the device is shared.
  void report_forgiven_to(unique_function<void(const quarantined_request&)> listener) {
    forgiven_ = std::move(listener);
  }

 private:
  struct suspect {
    quarantined_request what;
    std::chrono::nanoseconds term{};
    bool on_trial = false;
  };

  [[nodiscard]] static std::size_t place_of(const detail::buffer_ref& buffer) noexcept;
  [[nodiscard]] suspect* find(std::uint64_t identity);
  void report_forgiven(std::span<const suspect> all);

  static constexpr std::size_t contents = 1024;

  const std::chrono::nanoseconds term_;
  unique_function<void(const quarantined_request&)> forgiven_;
  std::atomic<bool> counts_{false};
  // By the buffer's address. Two buffers that share an entry get new content more often than
  // needed.
  std::array<std::atomic<std::uint32_t>, contents> contents_{};
  mutable std::mutex mutex_;  // guards the rest
  std::vector<suspect> suspects_;
};

}  // namespace troupe
