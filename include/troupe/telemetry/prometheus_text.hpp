#pragma once

#include <troupe/base/export.hpp>
#include <troupe/telemetry/snapshot.hpp>

#include <cstddef>
#include <set>
#include <string>
#include <tuple>

namespace troupe::telemetry {

/// Snapshots in Prometheus's text format 0.0.4, as `/metrics` serves them. For a program with an
/// HTTP server of its own; in `libtroupe-telemetry.so`. Not thread-safe.
class TROUPE_EXPORT prometheus_text {
 public:
  /// The operations that would make too many series are added up as the operation "other". An
  /// operation that was once by itself stays so, because counters must not fall.
  [[nodiscard]] std::string write(telemetry_snapshot s);

  /// The most for operations; all others together have fewer than 100 for each device.
  static constexpr std::size_t most_series = 4000;

 private:
  void admit(const device_telemetry& d);
  [[nodiscard]] bool is_admitted(const device_telemetry& d, const std::string& operation,
                                 int code) const {
    return admitted_.contains({d.ordinal, operation, code});
  }
  void limit(device_telemetry& d) const;

  std::set<std::tuple<std::int32_t, std::string, int>> admitted_;  // -1: all but failures
  std::size_t series_ = 0;
};

}  // namespace troupe::telemetry
