#pragma once

#include <troupe/core/actor_ref.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

/// The activity of an actor.
enum class actor_state : std::uint8_t {
  starting,
  active,
  failed,      ///< waiting for its supervisor's decision or for the backoff
  restarting,  ///< its old incarnation, or those of its siblings, are being ended
  stopping,
};

[[nodiscard]] TROUPE_EXPORT std::string_view to_string(actor_state state) noexcept;

/// One actor of `system::actors`: a snapshot.
struct actor_status {
  any_actor_ref actor;
  std::string path;
  actor_state state{};
  std::int64_t mailbox = 0;     ///< messages waiting in the mailbox; approximate
  std::int64_t unfinished = 0;  ///< messages handled whose reply is still pending
  std::int64_t restarts = 0;    ///< since it was spawned
};

}  // namespace troupe
