#include "exposition/live_facts.hpp"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

namespace troupe::telemetry {
namespace {

std::string device_row(const device_telemetry& d) {
  const device_health& h = d.health;
  const device_statistics& s = d.statistics;
  std::string made = fmt::format(
      R"({{"device":{},"backend":{},"name":{},"state":{},"generation":{},"restarts":{},"standby":{},)"
      R"("unexplained":{},"failover_ns":{},"sent":{},"answered":{},"failed":{},"replayed":{},)"
      R"("in_flight":{},"used":{},"peak":{},"limit":{},"frozen":{},"tainted":{},"buffers":{},)"
      R"("mailbox":{},"mailbox_bytes":{},"mailbox_used":{})",
      d.ordinal, json_text(d.backend), json_text(d.description.name), json_text(to_string(h.state)),
      h.generation, h.restarts, h.standby_ready, h.unexplained_faults, h.last_failover.count(),
      s.sent, s.answered, s.failed, s.replayed, s.in_flight, s.memory_used_bytes,
      s.memory_peak_bytes, s.memory_limit_bytes, d.frozen_bytes, d.tainted_bytes, s.buffers,
      d.mailbox_capacity, d.mailbox_bytes, d.mailbox_used_bytes);
  auto to = std::back_inserter(made);
  if (d.sensors) {
    const auto number = [&](std::string_view name, const std::optional<double>& value) {
      if (value) fmt::format_to(to, R"(,"{}":{:.4g})", name, *value);
    };
    number("watts", d.sensors->power_watts);
    number("celsius", d.sensors->temperature_celsius);
    number("utilization", d.sensors->utilization);
  }
  made += R"(,"lanes":[)";
  for (const lane_telemetry& one : d.lanes) {
    fmt::format_to(to, "{}[{},{},{}]", &one == d.lanes.data() ? "" : ",", one.lane, one.requests,
                   json_text(one.oldest));
  }
  made += R"(],"quarantine":[)";
  for (const quarantined_request& one : d.quarantine) {
    const auto left = one.until - std::chrono::steady_clock::now();
    fmt::format_to(to, R"({}{{"request":{},"faults":{},"seconds":{}}})",
                   &one == d.quarantine.data() ? "" : ",", json_text(one.request), one.faults,
                   std::chrono::ceil<std::chrono::seconds>(left).count());
  }
  return made + "]}";
}

// Buckets that are empty are left out.
std::string operation_row(std::int32_t device, const operation_telemetry& o) {
  std::string made = fmt::format(R"({{"device":{},"operation":{},"done":{},"failed":{})", device,
                                 json_text(o.name), o.done, o.failures());
  auto to = std::back_inserter(made);
  if (o.timed) {
    const request_times& t = o.timed->sums;
    fmt::format_to(to, R"(,"timed":{},"queue":{},"launch":{},"run":{},"wake":{},"buckets":[)",
                   o.timed->count, t.queue.count(), t.launch.count(), t.device.count(),
                   t.wake.count());
    const char* before = "";
    for (std::size_t i = 0; i < duration_histogram::buckets; ++i) {
      if (o.timed->duration.counts[i] == 0) continue;
      fmt::format_to(to, "{}[{},{}]", std::exchange(before, ","),
                     duration_histogram::bound_of(i).count(), o.timed->duration.counts[i]);
    }
    made += ']';
  }
  return made + '}';
}

// "0-17.1-4": event 17 of device 0, event 4 of device 1.
std::map<std::int32_t, std::uint64_t> read_numbers(std::string_view text) {
  std::map<std::int32_t, std::uint64_t> made;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    std::int32_t device = 0;
    std::uint64_t number = 0;
    auto read = std::from_chars(at, end, device);
    if (read.ec != std::errc() || read.ptr == end || *read.ptr != '-') return {};
    read = std::from_chars(read.ptr + 1, end, number);
    if (read.ec != std::errc()) return {};
    made[device] = number;
    at = read.ptr + 1;
  }
  return made;
}

std::string as_stream(const std::map<std::string, std::string>& rows, bool is_all) {
  std::string made = fmt::format("event: rows\ndata: {{\"all\":{},\"rows\":{{", is_all);
  const char* before = "";
  for (const auto& [name, row] : rows) {
    fmt::format_to(std::back_inserter(made), "{}{}:{}", std::exchange(before, ","), json_text(name),
                   row);
  }
  return made + "}}\n\n";
}

}  // namespace

live_facts::rows live_facts::current() const {
  const telemetry_snapshot s = system_->snapshot();
  rows made;
  for (const device_telemetry& d : s.devices) {
    made.emplace(fmt::format("device {}", d.ordinal), device_row(d));
    for (const operation_telemetry& o : d.operations)
      made.emplace(fmt::format("operation {} {}", d.ordinal, o.name), operation_row(d.ordinal, o));
  }
  made.emplace("health", to_json(health_->judge()));
  std::string mailboxes;
  for (const waiting_actor& one : s.longest_mailboxes) {
    fmt::format_to(std::back_inserter(mailboxes), "{}[{},{}]", mailboxes.empty() ? "" : ",",
                   json_text(one.path), one.messages);
  }
  made.emplace("program", fmt::format(R"({{"version":{},"actors":{},"messages":{},)"
                                      R"("dead_letters":{},"mailboxes":[{}]}})",
                                      json_text(s.version), s.actors, s.actor_messages,
                                      s.dead_letters, mailboxes));
  std::erase_if(made["health"], [](char c) { return c == '\n'; });  // one line is one piece
  return made;
}

std::vector<device_event> live_facts::events_after(const numbers& seen) const {
  std::vector<device_event> made = system_->events();
  numbers last;
  for (const device_event& e : made)
    last[e.device] = std::max(last[e.device], e.number);
  std::erase_if(made, [&](const device_event& e) {
    const auto there = seen.find(e.device);
    // A number that has not been given yet is another program's, or another device's.
    return there != seen.end() && there->second <= last[e.device] && e.number <= there->second;
  });
  return made;
}

std::string live_facts::as_stream(const std::vector<device_event>& events, numbers& seen) const {
  std::string made;
  for (const device_event& e : events) {
    seen[e.device] = e.number;
    std::string id;
    for (const auto& [device, number] : seen)
      fmt::format_to(std::back_inserter(id), "{}{}-{}", id.empty() ? "" : ".", device, number);
    fmt::format_to(std::back_inserter(made), "id: {}\nevent: device\ndata: {}\n\n", id, to_json(e));
  }
  return made;
}

std::string live_facts::next() {
  rows now = current();
  rows changed;
  bool is_all = now.size() < rows_.size();
  for (const auto& [name, row] : now) {
    const auto before = rows_.find(name);
    if (before == rows_.end() || before->second != row) changed.emplace(name, row);
  }
  for (const auto& [name, row] : rows_)
    is_all = is_all || !now.contains(name);
  rows_ = std::move(now);
  return telemetry::as_stream(is_all ? rows_ : changed, is_all) +
         as_stream(events_after(seen_), seen_);
}

std::string live_facts::beginning(std::string_view last_event) {
  // The others have not yet all that is in `rows_` if it is made anew here, so it is not.
  if (rows_.empty()) (void)next();
  numbers seen = read_numbers(last_event);
  std::erase_if(seen, [&](const auto& one) { return !seen_.contains(one.first); });
  std::vector<device_event> missed = events_after(seen);
  std::erase_if(missed, [&](const device_event& e) { return e.number > seen_[e.device]; });
  return "retry: 1000\n\n" + telemetry::as_stream(rows_, true) + as_stream(missed, seen);
}

}  // namespace troupe::telemetry
