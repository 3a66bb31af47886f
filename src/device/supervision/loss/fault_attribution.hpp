#pragma once

#include "device/supervision/loss/recovery.hpp"

#include <troupe/base/error.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

class reactor;
class role;

/// Finds the culprit of a device fault that has several suspects: they run again, one at a time,
/// and each that succeeds is cleared. Used by the device thread.
class fault_attribution {
 public:
  explicit fault_attribution(reactor& completions) noexcept : completions_(completions) {}

  /// A worker was lost and its requests are judged: begins a search, or ends one whose cause is
  /// known now. `ended_before`: the requests that ended last in that worker, for the message.
  void note_loss(const role& held, const loss& what, const error& why,
                 const std::string& ended_before, std::span<const request_at_loss> requests,
                 std::span<const verdict> verdicts);
  /// A suspect does not run again, so it stays unknown whether it was the cause.
  void leave_open() noexcept { unattributed_.reset(); }
  /// Returns the fault that none of its suspects has caused, once all of them have run again
  /// without a loss. If one was cancelled or expired instead, the cause stays unknown.
  [[nodiscard]] std::optional<error> look(const role& held);

 private:
  struct unattributed_fault {
    error why;
    std::string ended_before;
    std::vector<std::uint64_t> suspects;
    std::uint64_t skipped_reruns = 0;  // `reactor::skipped_reruns` before the reruns
  };

  reactor& completions_;
  std::optional<unattributed_fault> unattributed_;
};

}  // namespace troupe
