#include <troupe/telemetry/prometheus_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::telemetry {
namespace {

using namespace std::chrono_literals;
using label = std::pair<std::string_view, std::string_view>;

constexpr std::array request_bounds{
    10'000ns,     50'000ns,     100'000ns,     500'000ns,     1'000'000ns,     5'000'000ns,
    10'000'000ns, 50'000'000ns, 100'000'000ns, 500'000'000ns, 1'000'000'000ns, 10'000'000'000ns};
constexpr std::array failover_bounds{
    1'000'000ns,   5'000'000ns,     10'000'000ns,    50'000'000ns,     100'000'000ns,
    500'000'000ns, 1'000'000'000ns, 5'000'000'000ns, 10'000'000'000ns, 60'000'000'000ns};
constexpr std::array states{device_state::starting, device_state::ready, device_state::recovering,
                            device_state::stopped, device_state::condemned};

double seconds(std::chrono::nanoseconds t) { return std::chrono::duration<double>(t).count(); }

// In quotes.
void append_escaped(std::string& to, std::string_view text) {
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  if (std::ranges::all_of(text, is_plain)) {
    to.append(1, '"').append(text).append(1, '"');
    return;
  }
  // Valid UTF-8, with JSON's escapes; the format has only three of them.
  const std::string quoted = json_text(text);
  for (std::size_t i = 0; i < quoted.size(); ++i) {
    if (quoted.compare(i, 2, "\\u") == 0) {
      to += quoted.compare(i, 6, "\\u000a") == 0 ? "\\n" : "?";
      i += 5;
    } else if (quoted[i] == '\\' && i + 1 < quoted.size()) {
      ++i;
      const bool is_kept = std::string_view("\"\\n").find(quoted[i]) != std::string_view::npos;
      to += is_kept ? fmt::format("\\{}", quoted[i]) : " ";
    } else {
      to += quoted[i];
    }
  }
}

// Writes families: all series of one name, under its help.
class families {
 public:
  void begin(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", name, help, name,
                   type);
  }
  template <class Number>
  void add(std::initializer_list<label> labels, Number value, std::string_view suffix = {}) {
    text_.append(name_).append(suffix);
    char before = '{';
    for (const auto& [name, what] : labels) {
      text_.append(1, std::exchange(before, ',')).append(name).append(1, '=');
      append_escaped(text_, what);
    }
    if (labels.size() > 0) text_ += '}';
    fmt::format_to(std::back_inserter(text_), " {}\n", value);
  }
  template <class Bounds>
  void add_histogram(std::string_view device, std::optional<std::string_view> operation,
                     const duration_histogram& h, const Bounds& bounds) {
    const auto add_one = [&](std::string_view le, auto value, std::string_view suffix) {
      if (operation && le.empty()) {
        add({{"device", device}, {"operation", *operation}}, value, suffix);
      } else if (operation) {
        add({{"device", device}, {"operation", *operation}, {"le", le}}, value, suffix);
      } else if (le.empty()) {
        add({{"device", device}}, value, suffix);
      } else {
        add({{"device", device}, {"le", le}}, value, suffix);
      }
    };
    for (const std::chrono::nanoseconds wanted : bounds) {
      // A bound of a bucket, so that the count is exact.
      const auto bound = duration_histogram::bound_of(duration_histogram::bucket_of(wanted));
      add_one(fmt::format("{}", seconds(bound)), h.count_below(bound), "_bucket");
    }
    add_one("+Inf", h.count(), "_bucket");
    add_one({}, seconds(h.sum), "_sum");
    add_one({}, h.count(), "_count");
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string_view name_;
  std::string text_;
};

// The devices, each with its number as text, and what writes their families.
class writer {
 public:
  explicit writer(const telemetry_snapshot& s) : s_(s), devices_(s.devices) {
    for (const device_telemetry& one : devices_)
      numbers_.push_back(std::to_string(one.ordinal));
  }

  [[nodiscard]] std::string text() {
    about();
    life();
    requests();
    times();
    memory();
    sensors();
    return to_.take();
  }

 private:
  template <class Write>
  void each(std::string_view name, std::string_view type, std::string_view help, Write write) {
    to_.begin(name, type, help);
    for (std::size_t i = 0; i < devices_.size(); ++i)
      write(devices_[i], std::string_view(numbers_[i]));
  }
  template <class Value>
  void gauge(std::string_view name, std::string_view help, Value value,
             std::string_view type = "gauge") {
    each(name, type, help, [&](const device_telemetry& d, std::string_view device) {
      to_.add({{"device", device}}, value(d));
    });
  }
  template <class Value>
  void sensor(std::string_view name, std::string_view help, Value value) {
    each(name, "gauge", help, [&](const device_telemetry& d, std::string_view device) {
      if (!d.sensors) return;
      if (const auto is = value(*d.sensors)) to_.add({{"device", device}}, *is);
    });
  }

  void about();
  void life();
  void requests();
  void times();
  void memory();
  void sensors();

  const telemetry_snapshot& s_;
  const std::vector<device_telemetry>& devices_;
  std::vector<std::string> numbers_;
  families to_;
};

using device_ref = const device_telemetry&;

void writer::about() {
  to_.begin("troupe_build_info", "gauge", "The version of Troupe.");
  to_.add({{"version", s_.version}}, 1);
  each("troupe_device_info", "gauge", "The hardware that serves a device.",
       [&](device_ref d, std::string_view device) {
         to_.add({{"device", device},
                  {"backend", d.backend},
                  {"name", d.description.name},
                  {"uuid", d.description.uuid},
                  {"architecture", d.description.architecture}},
                 1);
       });
  to_.begin("troupe_actors", "gauge", "Actors that have not stopped.");
  to_.add({}, s_.actors);
  to_.begin("troupe_actor_messages", "gauge", "Messages waiting in mailboxes of actors.");
  to_.add({}, s_.actor_messages);
  to_.begin("troupe_dead_letters_total", "counter", "Messages that could not be delivered.");
  to_.add({}, s_.dead_letters);
}

void writer::life() {
  each("troupe_device_state", "gauge", "1 for the state that a device is in.",
       [&](device_ref d, std::string_view device) {
         for (const device_state one : states)
           to_.add({{"device", device}, {"state", to_string(one)}}, d.health.state == one ? 1 : 0);
       });
  gauge("troupe_device_generation", "The worker in service, counted from 1.",
        [](device_ref d) { return d.health.generation; });
  gauge("troupe_device_standby_ready", "1 if the next worker has loaded everything.",
        [](device_ref d) { return d.health.standby_ready ? 1 : 0; });
  gauge(
      "troupe_device_restarts_total", "Workers that were replaced.",
      [](device_ref d) { return d.health.restarts; }, "counter");
  gauge(
      "troupe_device_unexplained_faults_total", "Faults that no request in flight caused.",
      [](device_ref d) { return d.health.unexplained_faults; }, "counter");
  each("troupe_faults_total", "counter",
       "Workers that were lost, by reason and by the library of the culprit.",
       [&](device_ref d, std::string_view device) {
         for (const fault_count& one : d.faults)
           to_.add({{"device", device}, {"kind", one.kind}, {"library", one.library}}, one.count);
       });
  each("troupe_device_events_total", "counter", "Events in the life of a device.",
       [&](device_ref d, std::string_view device) {
         for (const event_count& one : d.events)
           to_.add({{"device", device}, {"event", to_string(one.what)}}, one.count);
       });
  each("troupe_failover_duration_seconds", "histogram",
       "From the first sign of a loss until the next worker served.",
       [&](device_ref d, std::string_view device) {
         to_.add_histogram(device, std::nullopt, d.failovers, failover_bounds);
       });
}

void writer::requests() {
  each("troupe_requests_total", "counter", "Requests that have ended.",
       [&](device_ref d, std::string_view device) {
         for (const operation_telemetry& one : d.operations) {
           to_.add({{"device", device}, {"operation", one.name}, {"outcome", "done"}}, one.done);
           for (const failure_count& f : one.failed)
             to_.add({{"device", device}, {"operation", one.name}, {"outcome", to_string(f.code)}},
                     f.count);
         }
       });
  gauge("troupe_requests_in_flight", "Requests that were sent and have not ended.",
        [](device_ref d) { return d.statistics.in_flight; });
  gauge(
      "troupe_requests_replayed_total", "Requests that ran again on another worker.",
      [](device_ref d) { return d.statistics.replayed; }, "counter");
  gauge("troupe_quarantined_requests", "Requests that are refused for their faults.",
        [](device_ref d) { return d.quarantine.size(); });
  gauge("troupe_mailbox_capacity", "Requests that fit into a device's mailbox.",
        [](device_ref d) { return d.mailbox_capacity; });
  gauge("troupe_mailbox_bytes", "Bytes of a device's mailbox for long requests.",
        [](device_ref d) { return d.mailbox_bytes; });
  gauge("troupe_mailbox_used_bytes", "Of these, in use.",
        [](device_ref d) { return d.mailbox_used_bytes; });
}

void writer::times() {
  each("troupe_request_duration_seconds", "histogram",
       "From sending to the answer, of requests whose times were taken.",
       [&](device_ref d, std::string_view device) {
         for (const operation_telemetry& one : d.operations) {
           if (one.timed) to_.add_histogram(device, one.name, one.timed->duration, request_bounds);
         }
       });
  // By library, which takes few series.
  std::vector<std::map<std::string, timed_requests>> by_library;
  for (const device_telemetry& d : devices_) {
    auto& sums = by_library.emplace_back();
    for (const operation_telemetry& one : d.operations) {
      if (!one.timed) continue;
      timed_requests& sum = sums[one.name.substr(0, one.name.find('.'))];
      sum.count += one.timed->count;
      sum.sums.queue += one.timed->sums.queue;
      sum.sums.turn += one.timed->sums.turn;
      sum.sums.launch += one.timed->sums.launch;
      sum.sums.device += one.timed->sums.device;
      sum.sums.wake += one.timed->sums.wake;
    }
  }
  const auto part = [&](std::string_view name, std::string_view help, auto value) {
    to_.begin(name, "counter", help);
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      for (const auto& [library, sum] : by_library[i])
        to_.add({{"device", numbers_[i]}, {"library", library}}, value(sum));
    }
  };
  part("troupe_requests_timed_total", "Requests whose times were taken.",
       [](const timed_requests& t) { return t.count; });
  part("troupe_request_queue_seconds_total", "Of these: from sending to the executor.",
       [](const timed_requests& t) { return seconds(t.sums.queue); });
  part("troupe_request_turn_seconds_total", "Part of it: waiting for the library's turn.",
       [](const timed_requests& t) { return seconds(t.sums.turn); });
  part("troupe_request_launch_seconds_total", "In the executor.",
       [](const timed_requests& t) { return seconds(t.sums.launch); });
  part("troupe_request_device_seconds_total", "From begin to end on the device.",
       [](const timed_requests& t) { return seconds(t.sums.device); });
  part("troupe_request_wake_seconds_total", "From the end to the answer.",
       [](const timed_requests& t) { return seconds(t.sums.wake); });
}

void writer::memory() {
  gauge("troupe_memory_used_bytes", "Memory of tensors.",
        [](device_ref d) { return d.statistics.memory_used_bytes; });
  gauge("troupe_memory_peak_bytes", "The most that was used.",
        [](device_ref d) { return d.statistics.memory_peak_bytes; });
  gauge("troupe_memory_limit_bytes", "The most that may be used.",
        [](device_ref d) { return d.statistics.memory_limit_bytes; });
  gauge("troupe_memory_frozen_bytes", "Of the used memory, frozen.",
        [](device_ref d) { return d.frozen_bytes; });
  gauge("troupe_memory_tainted_bytes", "Of the used memory, undefined since a loss.",
        [](device_ref d) { return d.tainted_bytes; });
  gauge("troupe_buffers", "Buffers of tensors.", [](device_ref d) { return d.statistics.buffers; });
}

void writer::sensors() {
  sensor("troupe_gpu_power_watts", "Power that the card draws.",
         [](const gpu_sensors& s) { return s.power_watts; });
  sensor("troupe_gpu_temperature_celsius", "Temperature of the card.",
         [](const gpu_sensors& s) { return s.temperature_celsius; });
  sensor("troupe_gpu_utilization_ratio", "Part of the time with a kernel running.",
         [](const gpu_sensors& s) { return s.utilization; });
  sensor("troupe_gpu_memory_utilization_ratio", "Part of the time with memory in use.",
         [](const gpu_sensors& s) { return s.memory_utilization; });
  sensor("troupe_gpu_sm_clock_hertz", "Clock of the processors.",
         [](const gpu_sensors& s) { return s.sm_clock_hertz; });
  each("troupe_gpu_ecc_errors_total", "counter", "Errors of memory since the driver was loaded.",
       [&](device_ref d, std::string_view device) {
         if (!d.sensors) return;
         if (d.sensors->corrected_ecc_errors)
           to_.add({{"device", device}, {"kind", "corrected"}}, *d.sensors->corrected_ecc_errors);
         if (d.sensors->uncorrected_ecc_errors)
           to_.add({{"device", device}, {"kind", "uncorrected"}},
                   *d.sensors->uncorrected_ecc_errors);
       });
  each("troupe_gpu_throttled", "gauge", "1 for each reason why the clocks are low.",
       [&](device_ref d, std::string_view device) {
         if (!d.sensors || !d.sensors->throttled_by) return;
         for (const std::string& reason : *d.sensors->throttled_by)
           to_.add({{"device", device}, {"reason", reason}}, 1);
       });
}

void add_up(operation_telemetry& to, const operation_telemetry& from) {
  to.done += from.done;
  if (!from.timed) return;
  if (!to.timed) to.timed.emplace();
  to.timed->count += from.timed->count;
  to.timed->duration.sum += from.timed->duration.sum;
  for (std::size_t i = 0; i < duration_histogram::buckets; ++i)
    to.timed->duration.counts[i] += from.timed->duration.counts[i];
  to.timed->sums.queue += from.timed->sums.queue;
  to.timed->sums.turn += from.timed->sums.turn;
  to.timed->sums.launch += from.timed->sums.launch;
  to.timed->sums.device += from.timed->sums.device;
  to.timed->sums.wake += from.timed->sums.wake;
}

void add_failures(operation_telemetry& to, const failure_count& more) {
  const auto there = std::ranges::find(to.failed, more.code, &failure_count::code);
  if (there == to.failed.end()) {
    to.failed.push_back(more);
  } else {
    there->count += more.count;
  }
}

}  // namespace

void prometheus_text::admit(const device_telemetry& d) {
  constexpr std::size_t series_of_operation = request_bounds.size() + 4;
  const auto admit_one = [&](const std::string& operation, int code, std::size_t costs) {
    if (is_admitted(d, operation, code) || series_ + costs > most_series) return;
    admitted_.emplace(d.ordinal, operation, code);
    series_ += costs;
  };
  for (const operation_telemetry& one : d.operations) {
    admit_one(one.name, -1, series_of_operation);
    if (!is_admitted(d, one.name, -1)) continue;
    for (const failure_count& f : one.failed)
      admit_one(one.name, static_cast<int>(f.code), 1);
  }
}

void prometheus_text::limit(device_telemetry& d) const {
  std::vector<operation_telemetry> kept;
  operation_telemetry other{.name = "other"};
  for (operation_telemetry& one : d.operations) {
    const bool is_own = one.name != other.name && is_admitted(d, one.name, -1);
    if (!is_own) add_up(other, one);
    for (const failure_count& f : std::exchange(one.failed, {}))
      add_failures(is_own && is_admitted(d, one.name, static_cast<int>(f.code)) ? one : other, f);
    if (is_own) kept.push_back(std::move(one));
  }
  if (other.done > 0 || other.timed || !other.failed.empty()) kept.push_back(std::move(other));
  d.operations = std::move(kept);
}

std::string prometheus_text::write(telemetry_snapshot s) {
  for (device_telemetry& one : s.devices) {
    admit(one);
    limit(one);
  }
  return writer(s).text();
}

}  // namespace troupe::telemetry
