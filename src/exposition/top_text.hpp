#pragma once

#include "exposition/health_monitor.hpp"

#include <troupe/telemetry/snapshot.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::telemetry {

/// The text of `troupe top`: devices, operations and the last events.
class top_text {
 public:
  /// Rates are those since the last text that is at least half a second old. `sort` names a column
  /// of operations.
  [[nodiscard]] std::string write(const telemetry_snapshot& s, const health_verdict& health,
                                  const std::vector<device_event>& events, std::string_view sort);

 private:
  std::optional<telemetry_snapshot> before_;
};

}  // namespace troupe::telemetry
