#include "telemetry/trace_events.hpp"

#include <troupe/telemetry/snapshot.hpp>

#include <fmt/format.h>

#include <iterator>

namespace troupe {
namespace {

constexpr int process_of_device = -2;  // stands for the process in the set of tracks

// In the format's unit.
double in_us(std::chrono::nanoseconds t) noexcept { return static_cast<double>(t.count()) / 1000; }

}  // namespace

trace_events::trace_events() {
  put(fmt::format(
      R"({{"ph":"c","name":"clock_sync","pid":0,"tid":0,"ts":{:.3f},"args":{{"sync_id":"unix time","issue_ts":{:.3f}}}}})",
      in_us(steady_.time_since_epoch()), in_us(day_.time_since_epoch())));
}

void trace_events::put(std::string_view event) {
  text_ += std::exchange(is_first_, false) ? "[\n" : ",\n";
  text_ += event;
}

void trace_events::name_track(std::int32_t device, int lane) {
  if (named_.emplace(device, process_of_device).second) {
    put(fmt::format(
        R"({{"ph":"M","name":"process_name","pid":{0},"args":{{"name":"device {0}"}}}})", device));
  }
  if (!named_.emplace(device, lane).second) return;
  const std::string name = lane == track_of_device ? "device" : fmt::format("lane {}", lane);
  put(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{}"}}}})",
                  device, lane, name));
}

void trace_events::instant(std::int32_t device, int lane, std::string_view name,
                           std::string_view what, double at_us, std::string_view arguments) {
  name_track(device, lane);
  put(fmt::format(
      R"({{"ph":"i","s":"t","name":{},"cat":"{}","pid":{},"tid":{},"ts":{:.3f},"args":{{{}}}}})",
      json_text(name), what, device, lane, at_us, arguments));
}

void trace_events::add(std::int32_t device, const flight_record& r, std::string_view failure) {
  const bool failed = r.outcome != errc{};
  const std::string_view what = failed ? "failed" : "done";
  if (failed && failure.empty()) failure = to_string(r.outcome);
  if (r.times.launch == std::chrono::nanoseconds::zero()) {
    return instant(device, r.lane, r.name, what, in_us(r.ended.time_since_epoch()),
                   fmt::format(R"("id":{},"tag":{},"error":{})", r.id, r.tag, json_text(failure)));
  }
  name_track(device, r.lane);
  const auto begin = r.sent + r.times.queue;
  put(fmt::format(
      R"({{"ph":"X","name":{},"cat":"{}","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{"id":{},"tag":{},"generation":{},"queue_us":{:.3f},"turn_us":{:.3f},"launch_us":{:.3f},"device_us":{:.3f},"wake_us":{:.3f},"error":{}}}}})",
      json_text(r.name), what, device, r.lane, in_us(begin.time_since_epoch()),
      in_us(r.ended - r.times.wake - begin), r.id, r.tag, r.generation, in_us(r.times.queue),
      in_us(r.times.turn), in_us(r.times.launch), in_us(r.times.device), in_us(r.times.wake),
      json_text(failure)));
}

void trace_events::add_refused(const traced_request& r, std::string_view failure) {
  instant(r.device, r.lane, r.name, "refused", in_us(r.sent.time_since_epoch()),
          fmt::format(R"("id":{},"tag":{},"error":{})", r.id, r.tag, json_text(failure)));
}

void trace_events::add(const device_event& e) {
  // The time of day, by the steady clock.
  const double at = in_us(steady_.time_since_epoch() + (e.at - day_));
  const std::string arguments =
      fmt::format(R"("number":{},"generation":{},"text":{},"error":{})", e.number, e.generation,
                  json_text(e.to_string()), json_text(e.why ? e.why->to_string() : ""));
  instant(e.device, track_of_device, to_string(e.what), "event", at, arguments);
  if (e.what != device_event::kind::recovered) return;
  const double took = in_us(e.took);
  put(fmt::format(
      R"({{"ph":"X","name":"failover","cat":"event","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{{}}}}})",
      e.device, track_of_device, at - took, took, arguments));
}

void trace_events::add_missing(std::uint64_t count) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  put(fmt::format(
      R"({{"ph":"i","s":"g","name":"{} requests are missing","cat":"missing","pid":0,"tid":0,"ts":{:.3f}}})",
      count, in_us(now)));
}

}  // namespace troupe
