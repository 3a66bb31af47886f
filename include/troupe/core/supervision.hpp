#pragma once

#include <troupe/base/error.hpp>
#include <troupe/base/export.hpp>

#include <chrono>
#include <cstdint>

namespace troupe {

/// What a supervisor does about a child that failed.
enum class directive : std::uint8_t {
  resume,    ///< goes on with its next message, state untouched
  restart,   ///< a new incarnation at the same address with the same mailbox
  stop,      ///< ends it
  escalate,  ///< fails itself with the same error: its own supervisor decides
};

/// Whom a decision to restart or to stop concerns.
///
/// Several children are restarted together: first the incarnations of all are ended, from the last
/// spawned to the first, each once its own children have stopped; after the backoff all begin, from
/// the first to the last, each once the one before it has begun. Their messages wait meanwhile. One
/// that fails to begin is a failure like any other; one that is stopped stays so.
enum class strategy : std::uint8_t {
  one_for_one,   ///< the child that failed
  one_for_all,   ///< all children
  rest_for_one,  ///< the child that failed and those spawned after it
};

/// The default: what no new incarnation can mend stops, exhausted memory resumes (it was one
/// reply), and whatever else it is (a handler's exception, a device fault) restarts. What it
/// decides is logged (`system_config::log`).
[[nodiscard]] TROUPE_EXPORT directive default_decider(const error& e) noexcept;

/// At most `restarts` within the sliding `window`; the next failure stops the child.
struct restart_budget {
  std::int32_t restarts = 3;
  std::chrono::nanoseconds window = std::chrono::seconds(60);
};

/// The wait before the n-th restart within the window: `initial * factor^(n-1)`, at most `longest`,
/// varied by plus or minus `jitter` of itself so that many do not come back at once.
struct backoff {
  std::chrono::nanoseconds initial = std::chrono::milliseconds(10);
  std::chrono::nanoseconds longest = std::chrono::seconds(10);
  double factor = 2;
  double jitter = 0.2;
};

/// How an actor looks after its children.
struct supervision {
  troupe::strategy strategy = strategy::one_for_one;
  directive (*decider)(const error&) noexcept = &default_decider;  ///< null: the default
  restart_budget budget{};  ///< per child; of all children together unless one_for_one. A new
                            ///< incarnation, which has new children, begins with all of it.
  troupe::backoff backoff{};
};

}  // namespace troupe
