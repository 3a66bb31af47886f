#pragma once

#include <chrono>

namespace troupe {

/// Limits that concern several devices. Each of their device threads asks it with its own checks of
/// requests, without the role.
class request_watch {
 public:
  using clock = std::chrono::steady_clock;

  virtual ~request_watch() = default;
  /// Acts on what is over its limit. Returns when to ask again at the latest.
  [[nodiscard]] virtual clock::time_point look(clock::time_point now) = 0;
};

}  // namespace troupe
