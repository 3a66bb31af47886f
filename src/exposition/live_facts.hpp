#pragma once

#include "exposition/health_monitor.hpp"

#include <troupe/core/system.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::telemetry {

/// Tells pages in browsers what happens: rows of facts, by name, and events of devices. A row is
/// sent when it has changed. Used by one thread.
class live_facts {
 public:
  live_facts(troupe::system& system, health_monitor& health) : system_(&system), health_(&health) {}

  /// The next piece for all readers, as server-sent events. It is never empty, so that a reader
  /// knows that the program is there.
  [[nodiscard]] std::string next();
  /// The first piece for a new reader, who has seen the events up to `last_event`: all rows, and
  /// the events since. `next` follows.
  [[nodiscard]] std::string beginning(std::string_view last_event);

 private:
  using rows = std::map<std::string, std::string>;
  using numbers = std::map<std::int32_t, std::uint64_t>;

  [[nodiscard]] rows current() const;
  [[nodiscard]] std::vector<device_event> events_after(const numbers& seen) const;
  [[nodiscard]] std::string as_stream(const std::vector<device_event>& events, numbers& seen) const;

  troupe::system* system_;
  health_monitor* health_;
  rows rows_;     // as the readers have them
  numbers seen_;  // by device: the last event that they have
};

}  // namespace troupe::telemetry
