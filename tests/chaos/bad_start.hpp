#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

/// Processes that were started as workers and never serve as one. Each is what a program finds when
/// a worker's file, its memory or its machine is not what it should be.
namespace troupe::chaos {

enum class bad_start : std::uint8_t {
  none,
  // Before the handshake.
  ends,     ///< with status 3
  killed,   ///< by SIGKILL
  crashes,  ///< by SIGSEGV
  silent,   ///< connects and never says anything
  // In place of a handshake.
  closes,               ///< its socket, and lives on
  empty,                ///< a message of no bytes
  garbage,              ///< a hello of bytes that are none
  truncated,            ///< the first half of a hello
  ready_without_hello,  ///< says that it can serve, and has not been asked
  // In the middle of it.
  ends_after_hello,       ///< while it is being configured
  truncated_after_hello,  ///< half a message follows the hello
  ready_at_once,          ///< hello and ready in one breath: it has mapped nothing
  second_hello,
  failed_without_words,  ///< says that it has failed, with an invalid error
  // While it brings its backend up; by `spoil_bring_up`.
  throws,     ///< an uncaught exception
  bad_alloc,  ///< likewise, of memory
  hangs,
  dies_soon,  ///< by SIGKILL, a moment later, wherever it is by then
};

struct named_start {
  std::string_view name;
  bad_start how;
};
[[nodiscard]] std::span<const named_start> bad_starts();
/// By its name; nothing where there is none.
[[nodiscard]] std::optional<bad_start> bad_start_of(std::string_view name);

/// In a process that was started as a worker, before `worker_entry`: does not return for what goes
/// wrong before the worker has been configured, and does nothing for any other.
void spoil_handshake(bad_start how);

/// In a worker that brings its backend up, where it asks for the program's operations.
void spoil_bring_up(bad_start how, std::uint32_t moment_us);

}  // namespace troupe::chaos
