#include "exposition/health_monitor.hpp"

#include <troupe/device/device.hpp>
#include <troupe/lane/marker.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

namespace troupe::telemetry {
namespace {

// A device thread that sleeps turns within microseconds once it is woken.
constexpr std::chrono::seconds longest_turn{1};
constexpr std::chrono::seconds longest_probe{1};

double in_seconds(std::chrono::nanoseconds t) { return std::chrono::duration<double>(t).count(); }

}  // namespace

bool health_verdict::is_live() const noexcept {
  return std::ranges::all_of(devices, &device_verdict::is_live);
}
bool health_verdict::is_ready() const noexcept {
  return std::ranges::all_of(devices, &device_verdict::is_ready);
}

health_verdict health_monitor::judge() {
  const telemetry_snapshot s = system_->snapshot();
  health_verdict made;
  const std::lock_guard lock(mutex_);
  for (const device_telemetry& one : s.devices) {
    made.devices.push_back(judge_one(one, s));
    devices_[one.ordinal].looked = s.steady;
  }
  return made;
}

device_verdict health_monitor::judge_one(const device_telemetry& d, const telemetry_snapshot& s) {
  const clock::time_point now = s.steady;
  device_verdict v{.device = d.ordinal, .generation = d.health.generation};
  progress& p = devices_[d.ordinal];
  if (p.generation != d.health.generation || p.answered != d.statistics.answered) {
    // A worker that has just come has answered, too. A probe of the last one says nothing.
    if (p.generation != d.health.generation) {
      p.asked.reset();
      p.lost.reset();
    }
    p.generation = d.health.generation;
    p.answered = d.statistics.answered;
    p.last_good = now;
  }
  if (p.turned != d.last_turn || p.asked_to_turn == clock::time_point{}) {
    p.turned = d.last_turn;
    p.asked_to_turn = now;  // by the snapshot
  } else if (now - p.asked_to_turn > longest_turn && d.health.state != device_state::stopped) {
    v.is_live = v.is_ready = false;
    v.status = "stuck";
    v.reason = fmt::format("the thread of the device has stood still for {:.1f} s",
                           in_seconds(now - p.asked_to_turn));
    return v;
  }
  v.status = to_string(d.health.state);
  if (d.health.state != device_state::recovering) p.lost.reset();
  switch (d.health.state) {
    case device_state::ready:
      judge_ready(v, d, p, now);
      return v;
    case device_state::recovering:
      if (const auto since = since_loss(d, p, s); since > grace_) {
        v.is_ready = false;
        v.reason = fmt::format("no worker for {:.1f} s", in_seconds(since));
      } else {
        v.reason = "the next worker takes over; requests wait for it";
      }
      break;
    case device_state::condemned:
      v.is_live = false;
      [[fallthrough]];
    case device_state::starting:
    case device_state::stopped:
      v.is_ready = false;
      break;
  }
  if (v.reason.empty() && d.health.last_fault) v.reason = d.health.last_fault->to_string();
  return v;
}

void health_monitor::judge_ready(device_verdict& v, const device_telemetry& d, progress& p,
                                 clock::time_point now) {
  if (p.asked) {
    std::erase_if(p.asked->answers, [&](future<void>& one) {
      if (!one.ready()) return false;
      if (!one.try_get()) p.asked->has_failed = true;
      return true;
    });
    if (p.asked->answers.empty() && !p.asked->has_failed) {
      p.last_good = now;
    }
  }
  if (now - p.last_good > fresh_) {
    const bool is_late = p.asked && now - p.asked->sent > longest_probe;
    if (!p.asked || (is_late && p.asked->has_failed)) p.asked = ask(d, now);
    if (is_late || p.asked->has_failed) p.is_hung = true;
    if (p.is_hung) {
      v.is_ready = false;
      v.status = "hung";
      v.reason = fmt::format("no request has ended well for {:.1f} s, and a probe was not answered",
                             in_seconds(now - p.last_good));
      return;
    }
  } else {
    p.asked.reset();
    p.is_hung = false;
  }
  if (d.health.unexplained_faults > 0) {
    v.status = "degraded";
    v.reason =
        fmt::format("{} faults that no request in flight caused", d.health.unexplained_faults);
  }
}

// The event says the time of day, which somebody may set. So it is believed for the moment of the
// loss only as far as that lies between the last look and this one.
std::chrono::nanoseconds health_monitor::since_loss(const device_telemetry& d, progress& p,
                                                    const telemetry_snapshot& s) const {
  if (!p.lost) {
    const auto events = system_->events();
    const auto last = std::find_if(events.rbegin(), events.rend(), [&](const device_event& e) {
      return e.device == d.ordinal && e.what == device_event::kind::lost;
    });
    const std::chrono::nanoseconds most = s.steady - p.looked;
    p.lost = s.steady - (last == events.rend()
                             ? most
                             : std::clamp<std::chrono::nanoseconds>(s.at - last->at, {}, most));
  }
  return s.steady - *p.lost;
}

// Reaches each library that has a lane of its own. The answers are looked at and have no
// continuations: the program's continuations could hold those up.
health_monitor::probe health_monitor::ask(const device_telemetry& d, clock::time_point now) {
  probe made{.sent = now};
  // A request to a full mailbox may wait for room.
  if (d.statistics.in_flight >= d.mailbox_capacity / 2 && d.mailbox_capacity > 0) {
    made.has_failed = true;
    return made;
  }
  try {
    const device to = system_->device(d.ordinal);
    std::set<std::string_view> libraries;
    for (const operation_telemetry& one : d.operations) {
      if (const std::size_t dot = one.name.find('.'); dot != std::string::npos)
        libraries.insert(std::string_view(one.name).substr(0, dot));
    }
    made.answers.push_back(to.ask(lane::marker{}));
    for (const std::string_view library : libraries)
      made.answers.push_back(to.library(library).ask(lane::marker{}));
    probes_.fetch_add(made.answers.size(), std::memory_order_relaxed);
  } catch (const failure&) {
    made.has_failed = true;
  }
  return made;
}

std::string to_json(const health_verdict& v) {
  std::string made =
      fmt::format(R"({{"live":{},"ready":{},"devices":[)", v.is_live(), v.is_ready());
  for (const device_verdict& one : v.devices) {
    fmt::format_to(
        std::back_inserter(made),
        R"({}{{"device":{},"generation":{},"live":{},"ready":{},"status":{},"reason":{}}})",
        &one == v.devices.data() ? "" : ",", one.device, one.generation, one.is_live, one.is_ready,
        json_text(one.status), json_text(one.reason));
  }
  return made + "]}\n";
}

}  // namespace troupe::telemetry
