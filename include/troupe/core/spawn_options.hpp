#pragma once

#include <troupe/core/mailbox_options.hpp>

#include <string>

namespace troupe {

/// Who runs an actor's turns.
enum class dispatcher : std::uint8_t {
  pool,  ///< the system's threads
  /// A thread of its own, for handlers that block or belong to a thread. Where it cannot be
  /// started, `spawn` throws `failure` (`errc::system_error`).
  pinned,
};

struct spawn_options {
  std::string name{};  ///< for paths and reports; empty: its number among its siblings
  mailbox_options mailbox{};
  dispatcher run_by = dispatcher::pool;
  std::int64_t stash_capacity = 1'024;  ///< messages that the actor may put aside
};

}  // namespace troupe
