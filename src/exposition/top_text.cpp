#include "exposition/top_text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace troupe::telemetry {
namespace {

constexpr std::size_t most_operations = 20;
constexpr std::size_t most_events = 8;

std::string bytes(std::uint64_t n) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
  double shown = static_cast<double>(n);
  std::size_t unit = 0;
  for (; shown >= 1000 && unit + 1 < units.size(); ++unit)
    shown /= 1024;
  return fmt::format("{:.3g} {}", shown, units[unit]);
}

std::string time(std::chrono::nanoseconds t) {
  const auto ns = static_cast<double>(t.count());
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.3g} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.3g} ms", ns / 1e6);
  return fmt::format("{:.3g} s", ns / 1e9);
}

struct line {
  std::int32_t device = 0;
  const operation_telemetry* now = nullptr;
  double rate = 0;
};

// Lines of a terminal: control characters of error texts are not for it.
std::string plain(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  }
  return text;
}

std::uint64_t key_of(const line& l, std::string_view sort) {
  const auto& timed = l.now->timed;
  if (sort == "failed") return l.now->failures();
  if (sort == "total") return l.now->done;
  if (sort == "p50" && timed)
    return static_cast<std::uint64_t>(timed->duration.quantile(0.5).count());
  if (sort == "p99" && timed)
    return static_cast<std::uint64_t>(timed->duration.quantile(0.99).count());
  return static_cast<std::uint64_t>(l.rate * 1000);
}

const device_telemetry* find(const std::optional<telemetry_snapshot>& in, std::int32_t device) {
  if (!in) return nullptr;
  const auto there = std::ranges::find(in->devices, device, &device_telemetry::ordinal);
  return there == in->devices.end() ? nullptr : &*there;
}

// A line for each lane and mailbox that holds something.
std::string waiting(const telemetry_snapshot& s) {
  std::string made;
  auto to = std::back_inserter(made);
  for (const device_telemetry& d : s.devices) {
    for (const lane_telemetry& one : d.lanes)
      fmt::format_to(to, "    device {}, lane {:>2}: {} requests, {} first\n", d.ordinal, one.lane,
                     one.requests, one.oldest);
  }
  for (const waiting_actor& one : s.longest_mailboxes)
    fmt::format_to(to, "    actor {}: {} messages\n", plain(one.path), one.messages);
  return made;
}

std::string last_of(const std::vector<device_event>& events,
                    std::chrono::system_clock::time_point now) {
  std::string made = "\nLAST EVENTS\n";
  auto to = std::back_inserter(made);
  const std::size_t first = events.size() - std::min(events.size(), most_events);
  for (std::size_t i = first; i < events.size(); ++i) {
    const device_event& e = events[i];
    // Somebody may have set the clock back.
    const auto ago = std::max<std::chrono::nanoseconds>(now - e.at, {});
    fmt::format_to(to, "{:>8} ago  device {} {}{}{}\n", time(ago), e.device, e.to_string(),
                   e.why ? ": " : "", e.why ? plain(e.why->to_string()) : "");
  }
  return made;
}

}  // namespace

std::string top_text::write(const telemetry_snapshot& s, const health_verdict& health,
                            const std::vector<device_event>& events, std::string_view sort) {
  const double passed =
      before_ ? std::chrono::duration<double>(s.steady - before_->steady).count() : 0;
  const auto rate = [&](std::uint64_t now, std::uint64_t then) {
    return passed > 0 && now >= then ? static_cast<double>(now - then) / passed : 0.0;
  };
  std::string made = fmt::format("troupe {}  pid {}  {}  actors {}  waiting messages {}\n\n",
                                 s.version, ::getpid(), health.is_ready() ? "ready" : "NOT READY",
                                 s.actors, s.actor_messages);
  auto to = std::back_inserter(made);
  fmt::format_to(to, "{:>3} {:<11} {:>4} {:>7} {:>9} {:>9} {:>9} {:>10} {:>10}  {}\n", "DEV",
                 "STATE", "GEN", "STANDBY", "REQ/S", "FAILED", "MAILBOX", "MEMORY", "LIMIT",
                 "CARD");
  std::vector<line> lines;
  for (const device_telemetry& d : s.devices) {
    const device_telemetry* then = find(before_, d.ordinal);
    fmt::format_to(
        to, "{:>3} {:<11} {:>4} {:>7} {:>9.0f} {:>9} {:>9} {:>10} {:>10}  {}\n", d.ordinal,
        to_string(d.health.state), d.health.generation, d.health.standby_ready ? "yes" : "no",
        rate(d.statistics.answered, then != nullptr ? then->statistics.answered : 0),
        d.statistics.failed, fmt::format("{}/{}", d.statistics.in_flight, d.mailbox_capacity),
        bytes(d.statistics.memory_used_bytes), bytes(d.statistics.memory_limit_bytes),
        plain(d.description.name));
    for (const operation_telemetry& o : d.operations) {
      std::uint64_t earlier = 0;
      if (then != nullptr) {
        const auto there = std::ranges::find(then->operations, o.name, &operation_telemetry::name);
        if (there != then->operations.end()) earlier = there->done;
      }
      lines.push_back({d.ordinal, &o, rate(o.done, earlier)});
    }
  }
  for (const device_verdict& v : health.devices) {
    if (!v.reason.empty())
      fmt::format_to(to, "    device {}: {}: {}\n", v.device, v.status, plain(v.reason));
  }
  made += waiting(s);
  std::ranges::stable_sort(lines, std::ranges::greater{},
                           [&](const line& l) { return key_of(l, sort); });
  fmt::format_to(to, "\n{:>3} {:<28} {:>9} {:>12} {:>8} {:>9} {:>9}\n", "DEV", "OPERATION", "REQ/S",
                 "TOTAL", "FAILED", "P50", "P99");
  for (std::size_t i = 0; i < std::min(lines.size(), most_operations); ++i) {
    const line& l = lines[i];
    const auto quantile = [&](double q) {
      return l.now->timed ? time(l.now->timed->duration.quantile(q)) : std::string("-");
    };
    fmt::format_to(to, "{:>3} {:<28} {:>9.0f} {:>12} {:>8} {:>9} {:>9}\n", l.device,
                   plain(l.now->name), l.rate, l.now->done, l.now->failures(), quantile(0.5),
                   quantile(0.99));
  }
  made += last_of(events, s.at);
  if (!before_ || passed >= 0.5) before_ = s;
  return made;
}

}  // namespace troupe::telemetry
