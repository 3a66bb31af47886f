#pragma once

#include <troupe/base/error.hpp>
#include <troupe/base/export.hpp>

#include <chrono>
#include <cstdint>

namespace troupe {

/// A supervisor's reaction to a failed child.
enum class directive : std::uint8_t {
  resume,    ///< the child continues with its next message; its state is kept
  restart,   ///< a new incarnation with the same address and the same mailbox
  stop,      ///< the child is stopped
  escalate,  ///< the supervisor itself fails with the same error; its own supervisor decides
};

/// Which children a decision to restart or stop applies to.
///
/// When several children restart together, first all incarnations are ended, from the last spawned
/// to the first, each once its own children have stopped. After the backoff all start, from the
/// first to the last, each once the one before it has started. Their messages wait meanwhile. A
/// child that fails to start is an ordinary failure. A child that has been stopped stays stopped.
enum class strategy : std::uint8_t {
  one_for_one,   ///< the child that failed
  one_for_all,   ///< all children
  rest_for_one,  ///< the child that failed and those spawned after it
};

/// The default decision. It stops the child for errors that a new incarnation cannot fix, resumes
/// it after exhausted memory (only one reply was lost), and restarts it for everything else (an
/// exception from a handler, a device fault). Its decisions are logged (`system_config::log`).
[[nodiscard]] TROUPE_EXPORT directive default_decider(const error& e) noexcept;

/// At most `restarts` restarts within the sliding `window`; the next failure stops the child.
struct restart_budget {
  std::int32_t restarts = 3;
  std::chrono::nanoseconds window = std::chrono::seconds(60);
};

/// The delay before the n-th restart within the window: `initial * factor^(n-1)`, at most
/// `longest`, randomised by plus or minus `jitter` (a fraction) so that many children do not
/// restart at once.
struct backoff {
  std::chrono::nanoseconds initial = std::chrono::milliseconds(10);
  std::chrono::nanoseconds longest = std::chrono::seconds(10);
  double factor = 2;
  double jitter = 0.2;
};

/// How an actor supervises its children.
struct supervision {
  troupe::strategy strategy = strategy::one_for_one;
  directive (*decider)(const error&) noexcept = &default_decider;  ///< null means the default
  restart_budget budget{};  ///< per child; shared by all children unless one_for_one. A new
                            ///< incarnation has new children and starts with the full budget.
  troupe::backoff backoff{};
};

}  // namespace troupe
