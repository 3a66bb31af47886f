#pragma once

#include "device/mailbox/record.hpp"

#include <troupe/base/error.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

/// How a worker was lost.
struct loss {
  /// The request named by the worker's crash report, by the executor that was running at the exit,
  /// or by the watchdog.
  std::optional<std::uint64_t> culprit_ticket{};
  /// An outside cause ended it (a SIGKILL that this device did not send, perhaps for lack of
  /// memory): neither a request nor the device is to blame.
  bool from_outside = false;
  /// It gave no sign of life, failed at something unrelated to requests, or its exit status is
  /// lost: even a request that ran alone need not be the cause.
  bool doubtful = false;
  /// The culprit was in flight when it was named, so no other request is to blame, even if it has
  /// completed meanwhile, as a request ended at its run limit can.
  bool culprit_known = false;
  /// The process ended by itself without a named culprit: executors that it was calling are
  /// suspects, too.
  bool of_process = false;
  /// The device reported a fault in work that it was given: one of the requests has caused it.
  bool of_device = false;
  /// It ran for too long. That alone does not count against a request.
  bool by_run_limit = false;
};

/// The facts known at the first sign that a worker is lost.
struct sign_of_loss {
  loss what{};
  error why{};
  /// None of its requests can continue: it was reaped.
  bool ended = false;
  /// None of its requests can continue: one request has faulted, all other unfinished ones come
  /// after it in its lane, and the worker has given up.
  bool stands_still = false;
  /// The exit of the process must still provide `what` and `why`.
  bool ask_its_end = false;
  std::chrono::steady_clock::time_point at{};

  /// True if nothing in the worker can change any more.
  [[nodiscard]] bool marks_are_final() const noexcept { return ended || stands_still; }
};

/// True for an error that a retry cannot help: it would find the same files again.
[[nodiscard]] bool is_permanent(errc code) noexcept;

/// The facts about a request that was in flight when its worker was lost.
struct request_at_loss {
  std::uint64_t ticket = 0;
  bool started = false;     ///< begun and not completed
  bool called = false;      ///< begun or not, its executor may have ended the process
  bool answered = false;    ///< expired or cancelled: its answer was given
  bool retry_safe = false;  ///< reads nothing that it writes
  /// It has most likely waited for other devices when the worker was lost: a suspect only if there
  /// is no other one.
  bool waits_for_peers = false;
  int kills = 0;          ///< earlier workers lost while it was running, without a named culprit
  int outside_kills = 0;  ///< earlier workers killed from outside while it was running
  std::chrono::nanoseconds killed_for{0};  ///< since the first of these was lost
};

enum class verdict : std::uint8_t {
  replay,     ///< run (again) by the next worker
  forget,     ///< answered already and never begun
  culprit,    ///< `errc::device_fault`; outputs tainted
  abort,      ///< not safe to run again; `errc::aborted`; outputs tainted
  too_often,  ///< killed from outside again and again; `errc::aborted`; outputs tainted
  poisonous,  ///< `errc::poisonous`; outputs tainted
};

/// Decides what happens to each request in flight, given in the order sent. A request with the
/// verdict `replay` that had started, or was called, gets one more kill if no culprit could be
/// named and the cause was not outside. Pure: only the arguments decide.
[[nodiscard]] std::vector<verdict> judge(const loss& what,
                                         std::span<const request_at_loss> requests);

/// The tickets of the requests that run again because one of them may have caused the loss. Nothing
/// if the cause is known or assumed: a request that may have been it was ended.
[[nodiscard]] std::optional<std::vector<std::uint64_t>> suspects_of(
    const loss& what, std::span<const request_at_loss> requests, std::span<const verdict> verdicts);

/// True if a request or an outside cause explains the loss: it costs no budget.
[[nodiscard]] bool is_explained(const loss& what, std::span<const verdict> verdicts) noexcept;

/// A request that was running in this many workers killed from outside is not run again. Otherwise
/// one that uses up the machine's memory would run for ever. See also `poisonous_kills`.
inline constexpr int outside_kills = 16;
/// Nor is one that was running in this many, of which the first was lost longer ago than that: the
/// waits between workers grow, and sixteen take more than a minute.
inline constexpr int few_outside_kills = 6;
inline constexpr std::chrono::seconds repeat_limit{2};

}  // namespace troupe
