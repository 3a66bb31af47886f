#pragma once

#include <troupe/base/error.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

/// How a worker was lost.
struct loss {
  /// The request that is named by the worker's own crash report, by what it was calling as it left,
  /// or by the watchdog.
  std::optional<std::uint64_t> culprit_ticket{};
  /// Somebody else has ended it (a SIGKILL that this device did not send, be it for want of
  /// memory): neither a request nor the device is to blame.
  bool from_outside = false;
  /// It gave no sign of life, could not do what has nothing to do with a request, or nobody knows
  /// how it ended: whoever ran alone need not have done it.
  bool doubtful = false;
  /// That request was in flight when it was named, so nobody else is to blame: also where it has
  /// completed meanwhile, as one can that is ended at its run limit.
  bool culprit_known = false;
  /// The process ended by itself and nobody is named: code that it was calling is suspected, too.
  bool of_process = false;
  /// The device says so, of work that it was given: one of the requests has done it.
  bool of_device = false;
  /// It ran for too long. That alone says nothing against a request: it is not counted.
  bool by_run_limit = false;
};

/// What is known at the first sign that a worker is lost.
struct sign_of_loss {
  loss what{};
  error why{};
  /// Nothing that it had begun can go on: it was reaped.
  bool ended = false;
  /// Nothing that it was given can go on: one request has faulted, all others that are not
  /// completed come after it in its lane, and the worker has given up.
  bool stands_still = false;
  /// `what` and `why` are to be had from how the process ends.
  bool ask_its_end = false;
  std::chrono::steady_clock::time_point at{};

  /// Nothing that the worker had can change any more.
  [[nodiscard]] bool marks_are_final() const noexcept { return ended || stands_still; }
};

/// True for an error that trying again cannot help: the same files would be found again.
[[nodiscard]] bool is_permanent(errc code) noexcept;

/// What is known of a request that was in flight when its worker was lost.
struct request_at_loss {
  std::uint64_t ticket = 0;
  bool started = false;     ///< begun and not completed
  bool called = false;      ///< begun or not, its executor may have ended the process
  bool answered = false;    ///< expired or cancelled: nobody waits any more
  bool retry_safe = false;  ///< reads nothing that it writes
  int kills = 0;            ///< workers lost before while it was running, with nobody named
  int outside_kills = 0;    ///< workers killed from outside before while it was running
};

enum class verdict : std::uint8_t {
  replay,     ///< run (again) by the next worker
  forget,     ///< answered already and never begun
  culprit,    ///< `errc::device_fault`; outputs tainted
  abort,      ///< not safe to run again; `errc::aborted`; outputs tainted
  too_often,  ///< killed from outside again and again; `errc::aborted`; outputs tainted
  poisonous,  ///< `errc::poisonous`; outputs tainted
};

/// Decides what becomes of each request in flight, given in the order sent. A request whose verdict
/// is `replay` and that had started, or was called, has one more kill to its name if no culprit
/// could be named and nobody outside has done it. Pure: nothing but its arguments decides.
[[nodiscard]] std::vector<verdict> judge(const loss& what,
                                         std::span<const request_at_loss> requests);

/// The tickets of those that are run again because one of them may have caused the loss. Nothing
/// where the cause is known, or is taken to be: a request was ended that may have been it.
[[nodiscard]] std::optional<std::vector<std::uint64_t>> suspects_of(
    const loss& what, std::span<const request_at_loss> requests, std::span<const verdict> verdicts);

/// True where a request is named for the loss, or somebody else: it costs no budget.
[[nodiscard]] bool is_explained(const loss& what, std::span<const verdict> verdicts) noexcept;

/// A request that has been running in this many lost workers is not run again.
inline constexpr int poisonous_kills = 2;

/// Nor is one that has been running in this many workers that were killed from outside. One that
/// uses up the machine's memory would be run for ever otherwise.
inline constexpr int outside_kills = 16;

}  // namespace troupe
