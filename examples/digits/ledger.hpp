#pragma once

#include <troupe/troupe.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace digits {

/// Longer than any failover: a request that has no answer by then is lost.
inline constexpr std::chrono::seconds timeout{30};

/// A request that failed, and who had asked.
struct failed_request {
  std::string who;
  troupe::error error;
};

/// Counts every request to its end. All threads share one.
class ledger {
 public:
  struct counts {
    std::int64_t sent = 0;
    std::int64_t answered = 0;
    std::int64_t failed = 0;
    std::int64_t lost = 0;

    [[nodiscard]] std::int64_t in_flight() const noexcept {
      return sent - answered - failed - lost;
    }
  };

  void sent(std::size_t requests) noexcept;

  /// Waits for the answer and books it: answered, failed, or lost after `timeout`.
  troupe::result<void> settle(std::string_view who, troupe::future<void> asked);

  [[nodiscard]] counts count() const noexcept;
  [[nodiscard]] std::vector<failed_request> failures() const;

 private:
  // Counters that any thread adds to and readers sum up; no order between them is needed.
  std::atomic<std::int64_t> sent_ = 0;
  std::atomic<std::int64_t> answered_ = 0;
  std::atomic<std::int64_t> lost_ = 0;
  mutable std::mutex lock_;
  std::vector<failed_request> failures_;  // guarded by lock_
};

}  // namespace digits
