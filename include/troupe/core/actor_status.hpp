#pragma once

#include <troupe/core/actor_ref.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

/// What an actor is at.
enum class actor_state : std::uint8_t {
  starting,
  active,
  failed,      ///< its supervisor decides, or the backoff runs
  restarting,  ///< its old incarnation ends, or its siblings' do
  stopping,
};

[[nodiscard]] TROUPE_EXPORT std::string_view to_string(actor_state state) noexcept;

/// One actor of `system::actors`, as it was for a moment.
struct actor_status {
  any_actor_ref actor;
  std::string path;
  actor_state state{};
  std::int64_t mailbox = 0;     ///< messages that wait in it; about
  std::int64_t unfinished = 0;  ///< handled, while the reply is still to come
  std::int64_t restarts = 0;    ///< of its life
};

}  // namespace troupe
