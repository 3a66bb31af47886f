#pragma once

#include <troupe/base/error.hpp>

#include <memory>

namespace troupe::detail {

/// Why an actor failed, restarts or stopped. Shared, because all that it brings about refers to it.
using failure_reason = std::shared_ptr<const error>;

/// The reason as the cause of another error. Bounded, since a chain of causes is destroyed link
/// within link, and actors may end one after another, each because the one before has: beyond 8 the
/// newest is left out, never the origin.
[[nodiscard]] inline failure_reason as_cause(const failure_reason& reason) noexcept {
  constexpr int most = 8;
  int links = 0;
  for (const error* e = reason.get(); e != nullptr; e = e->cause.get())
    ++links;
  return links > most ? reason->cause : reason;
}

}  // namespace troupe::detail
