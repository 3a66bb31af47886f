#include <troupe/telemetry/snapshot.hpp>

#include <fmt/format.h>

#include <concepts>
#include <iterator>
#include <utility>

namespace troupe {
namespace {

using std::chrono::duration;
using std::chrono::nanoseconds;

// Values as JSON.
std::string json(std::integral auto n) { return fmt::format("{}", n); }
std::string json(bool b) { return b ? "true" : "false"; }
std::string json(double x) { return fmt::format("{}", x); }
std::string json(std::string_view text) { return json_text(text); }
std::string json(const std::string& text) { return json_text(text); }
std::string json(nanoseconds t) { return json(duration<double>(t).count()); }
std::string json(std::chrono::system_clock::time_point t) {
  return fmt::format("{:.6f}", duration<double>(t.time_since_epoch()).count());
}
std::string json(const error& e);
std::string json(const device_description& d);
std::string json(const device_health& h);
std::string json(const device_statistics& s);
std::string json(const duration_histogram& h);
std::string json(const timed_requests& t);
std::string json(const gpu_sensors& g);
template <class T>
std::string json(const std::optional<T>& value) {
  return value ? json(*value) : "null";
}

// Writes fields; the first brace comes with the first one.
class json_object {
 public:
  template <class T>
  json_object& add(std::string_view name, const T& value) {
    return add_as_is(name, json(value));
  }
  json_object& add_as_is(std::string_view name, std::string_view value) {
    fmt::format_to(std::back_inserter(text_), "{}\"{}\":{}", text_.empty() ? "{" : ",", name,
                   value);
    return *this;
  }
  [[nodiscard]] std::string end() { return text_.empty() ? "{}" : std::move(text_) + '}'; }

 private:
  std::string text_;
};

template <class T, class Text>
std::string json_array(const std::vector<T>& all, Text text) {
  std::string made = "[";
  for (const T& one : all) {
    if (made.size() > 1) made += ',';
    made += text(one);
  }
  return made += ']';
}

std::string json(const error& e) {
  return json_object()
      .add("code", to_string(e.code))
      .add("message", e.message)
      .add("request", e.request)
      .add("library", e.library)
      .add("call", e.call)
      .add("code_name", e.code_name)
      .add("vendor_code", e.vendor_code)
      .add("device", e.device)
      .add("generation", e.generation)
      .add("text", e.to_string())
      .end();
}

std::string json(const device_health& h) {
  return json_object()
      .add("state", to_string(h.state))
      .add("generation", h.generation)
      .add("restarts", h.restarts)
      .add("standby_ready", h.standby_ready)
      .add("standby_pid", h.standby_pid)
      .add("last_fault", h.last_fault)
      .add("unexplained_faults", h.unexplained_faults)
      .add("last_failover", h.last_failover)
      .end();
}

std::string json(const device_statistics& s) {
  return json_object()
      .add("sent", s.sent)
      .add("answered", s.answered)
      .add("failed", s.failed)
      .add("replayed", s.replayed)
      .add("in_flight", s.in_flight)
      .add("memory_used_bytes", s.memory_used_bytes)
      .add("memory_peak_bytes", s.memory_peak_bytes)
      .add("memory_limit_bytes", s.memory_limit_bytes)
      .add("buffers", s.buffers)
      .end();
}

std::string json(const device_description& d) {
  return json_object()
      .add("ordinal", d.ordinal)
      .add("name", d.name)
      .add("uuid", d.uuid)
      .add("architecture", d.architecture)
      .add("memory_bytes", d.memory_bytes)
      .end();
}

// Its buckets that are not empty: the bound, and how many.
std::string json(const duration_histogram& h) {
  std::string buckets = "[";
  for (std::size_t b = 0; b < duration_histogram::buckets; ++b) {
    if (h.counts[b] == 0) continue;
    fmt::format_to(std::back_inserter(buckets), "{}[{},{}]", buckets.size() > 1 ? "," : "",
                   json(duration_histogram::bound_of(b)), h.counts[b]);
  }
  return json_object()
      .add("count", h.count())
      .add("sum", h.sum)
      .add("p50", h.quantile(0.5))
      .add("p99", h.quantile(0.99))
      .add_as_is("buckets", buckets + ']')
      .end();
}

std::string json(const timed_requests& t) {
  return json_object()
      .add("count", t.count)
      .add("duration", t.duration)
      .add("queue", t.sums.queue)
      .add("turn", t.sums.turn)
      .add("launch", t.sums.launch)
      .add("device", t.sums.device)
      .add("wake", t.sums.wake)
      .end();
}

std::string json(const operation_telemetry& o) {
  json_object failed;
  for (const failure_count& one : o.failed)
    failed.add(to_string(one.code), one.count);
  return json_object()
      .add("name", o.name)
      .add("done", o.done)
      .add_as_is("failed", failed.end())
      .add("timed", o.timed)
      .end();
}

std::string json(const gpu_sensors& g) {
  json_object made;
  made.add("power_watts", g.power_watts)
      .add("power_limit_watts", g.power_limit_watts)
      .add("temperature_celsius", g.temperature_celsius)
      .add("utilization", g.utilization)
      .add("memory_utilization", g.memory_utilization)
      .add("sm_clock_hertz", g.sm_clock_hertz)
      .add("memory_clock_hertz", g.memory_clock_hertz)
      .add("memory_used_bytes", g.memory_used_bytes)
      .add("memory_total_bytes", g.memory_total_bytes)
      .add("corrected_ecc_errors", g.corrected_ecc_errors)
      .add("uncorrected_ecc_errors", g.uncorrected_ecc_errors);
  const auto text = [](const std::string& reason) { return json(reason); };
  return made.add_as_is("throttled_by", g.throttled_by ? json_array(*g.throttled_by, text) : "null")
      .end();
}

// `now` turns times of the steady clock into durations that a reader of JSON understands.
std::string json_of_device(const device_telemetry& d, std::chrono::steady_clock::time_point now) {
  json_object events;
  for (const event_count& one : d.events)
    events.add(to_string(one.what), one.count);
  const auto quarantined = [&](const quarantined_request& q) {
    return json_object()
        .add("id", q.id)
        .add("request", q.request)
        .add("faults", q.faults)
        .add("since", nanoseconds(now - q.since))
        .add("left", nanoseconds(q.until - now))
        .end();
  };
  const auto fault = [](const fault_count& f) {
    return json_object().add("kind", f.kind).add("library", f.library).add("count", f.count).end();
  };
  const auto tag = [](const tag_time& t) {
    return json_object()
        .add("tag", t.tag)
        .add("requests", t.requests)
        .add("device", t.device)
        .end();
  };
  const auto lane = [](const lane_telemetry& l) {
    return json_object()
        .add("lane", l.lane)
        .add("requests", l.requests)
        .add("oldest", l.oldest)
        .end();
  };
  return json_object()
      .add("ordinal", d.ordinal)
      .add("backend", d.backend)
      .add("description", d.description)
      .add("health", d.health)
      .add("statistics", d.statistics)
      .add_as_is("operations", json_array(d.operations, [](const auto& o) { return json(o); }))
      .add("sample", d.sample)
      .add_as_is("quarantine", json_array(d.quarantine, quarantined))
      .add("mailbox_capacity", d.mailbox_capacity)
      .add("mailbox_bytes", d.mailbox_bytes)
      .add("mailbox_used_bytes", d.mailbox_used_bytes)
      .add_as_is("lanes", json_array(d.lanes, lane))
      .add("frozen_bytes", d.frozen_bytes)
      .add("tainted_bytes", d.tainted_bytes)
      .add("last_event", d.last_event)
      .add_as_is("events", events.end())
      .add_as_is("faults", json_array(d.faults, fault))
      .add("failovers", d.failovers)
      .add_as_is("xids", json_array(d.xids, [](std::uint64_t xid) { return json(xid); }))
      .add_as_is("tags", json_array(d.tags, tag))
      .add("sensors", d.sensors)
      .add("turned_ago", nanoseconds(now - d.last_turn))
      .end();
}

}  // namespace

std::string to_json(const device_event& e) {
  return json_object()
      .add("kind", to_string(e.what))
      .add("number", e.number)
      .add("device", e.device)
      .add("generation", e.generation)
      .add("at", e.at)
      .add("pid", e.pid)
      .add("took", e.took)
      .add("wait", e.wait)
      .add("count", e.count)
      .add("failed", e.failed)
      .add("spent", e.spent)
      .add("budget", e.budget)
      .add("text", e.to_string())
      .add("why", e.why)
      .end();
}

std::string to_json(const device_telemetry& d) {
  return json_of_device(d, std::chrono::steady_clock::now());
}

std::string to_json(const telemetry_snapshot& s) {
  const auto device = [&](const device_telemetry& d) { return json_of_device(d, s.steady); };
  const auto mailbox = [](const waiting_actor& a) {
    return json_object().add("path", a.path).add("messages", a.messages).end();
  };
  return json_object()
      .add("version", s.version)
      .add("at", s.at)
      .add_as_is("devices", json_array(s.devices, device))
      .add("actors", s.actors)
      .add("actor_messages", s.actor_messages)
      .add_as_is("longest_mailboxes", json_array(s.longest_mailboxes, mailbox))
      .add("dead_letters", s.dead_letters)
      .end();
}

}  // namespace troupe
