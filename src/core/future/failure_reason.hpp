#pragma once

#include <troupe/base/error.hpp>

#include <memory>

namespace troupe::detail {

/// The reason why an actor failed, restarts or stopped. Shared, because all its consequences refer
/// to it.
using failure_reason = std::shared_ptr<const error>;

/// The reason as the cause of another error. Bounded, because a chain of causes is destroyed
/// recursively, and actors may end one after another, each because of the previous one: beyond 8
/// links the newest is omitted, never the origin.
[[nodiscard]] inline failure_reason as_cause(const failure_reason& reason) noexcept {
  constexpr int most = 8;
  int links = 0;
  for (const error* e = reason.get(); e != nullptr; e = e->cause.get())
    ++links;
  return links > most ? reason->cause : reason;
}

}  // namespace troupe::detail
