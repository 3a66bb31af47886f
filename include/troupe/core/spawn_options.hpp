#pragma once

#include <troupe/core/mailbox_options.hpp>

#include <string>

namespace troupe {

/// Which thread runs an actor's turns.
enum class dispatcher : std::uint8_t {
  pool,  ///< the system's threads
  /// A dedicated thread, for handlers that block or need thread affinity. If it cannot be started,
  /// `spawn` throws `failure` (`errc::system_error`).
  pinned,
};

struct spawn_options {
  std::string name{};  ///< for paths and reports; if empty, its number among its siblings
  mailbox_options mailbox{};
  dispatcher run_by = dispatcher::pool;
  std::int64_t stash_capacity = 1'024;  ///< maximum number of stashed messages
};

}  // namespace troupe
