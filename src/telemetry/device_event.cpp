#include <troupe/device/events.hpp>

#include <fmt/format.h>

#include <iterator>

namespace troupe {
namespace {

using kind = device_event::kind;

// In the unit that suits it: "12.3 ms", "60 s".
std::string shown(std::chrono::nanoseconds time) {
  const double ms = std::chrono::duration<double, std::milli>(time).count();
  constexpr double second = 1000;
  return ms < second ? fmt::format("{:.3g} ms", ms) : fmt::format("{:.4g} s", ms / second);
}

std::string worker_of(const device_event& e) {
  return e.pid ? fmt::format("worker {}", *e.pid) : "the worker in this program";
}

std::string loss_text(const device_event& e) {
  std::string text = fmt::format("lost {} of generation {}", worker_of(e), e.generation);
  auto to = std::back_inserter(text);
  if (e.count > 0) fmt::format_to(to, "; {} of its requests run again", e.count);
  if (e.failed > 0) fmt::format_to(to, "; {} failed", e.failed);
  if (e.spent > 0) fmt::format_to(to, "; {} of {} restarts are spent", e.spent, e.budget);
  if (e.wait.count() > 0) fmt::format_to(to, "; the next worker waits {}", shown(e.wait));
  return text;
}

}  // namespace

std::string_view to_string(kind what) noexcept {
  switch (what) {
    case kind::started:
      return "started";
    case kind::standby_ready:
      return "standby_ready";
    case kind::lost:
      return "lost";
    case kind::tainted:
      return "tainted";
    case kind::recovered:
      return "recovered";
    case kind::start_failed:
      return "start_failed";
    case kind::quarantined:
      return "quarantined";
    case kind::forgiven:
      return "forgiven";
    case kind::unexplained:
      return "unexplained";
    case kind::gave_up:
      return "gave_up";
    case kind::stopped:
      return "stopped";
    case kind::restarted:
      return "restarted";
    case kind::condemned:
      return "condemned";
    case kind::renewed:
      return "renewed";
    case kind::xid:
      return "xid";
  }
  return "unknown";
}

log_level level_of(kind what) noexcept {
  switch (what) {
    case kind::standby_ready:
      return log_level::debug;
    case kind::started:
    case kind::tainted:
    case kind::recovered:
    case kind::forgiven:
    case kind::stopped:
    case kind::restarted:
    case kind::renewed:
      return log_level::info;
    case kind::lost:
    case kind::start_failed:
    case kind::quarantined:
    case kind::xid:
      return log_level::warning;
    case kind::unexplained:
    case kind::gave_up:
    case kind::condemned:
      return log_level::error;
  }
  return log_level::error;
}

std::string device_event::to_string() const {
  switch (what) {
    case kind::started:
      return fmt::format("is served by {}", worker_of(*this));
    case kind::standby_ready:
      return fmt::format("has a standby, {}", worker_of(*this));
    case kind::lost:
      return loss_text(*this);
    case kind::tainted:
      return fmt::format("has {} output{} with undefined content since the loss", count,
                         count == 1 ? "" : "s");
    case kind::recovered:
      return fmt::format("is served by {} since {} after the loss", worker_of(*this), shown(took));
    case kind::start_failed:
      return "could not start a worker" +
             (wait.count() > 0 ? fmt::format(", and tries again in {}", shown(wait)) : "");
    case kind::quarantined:
      return fmt::format("refuses a request for {}", shown(wait));
    case kind::forgiven:
      return "no longer refuses a request";
    case kind::unexplained:
      return "had a fault that no request in flight caused";
    case kind::gave_up:
      return "has given up";
    case kind::stopped:
      return "has stopped";
    case kind::restarted:
      return "is restarted by the program";
    case kind::condemned:
      return "is condemned";
    case kind::renewed:
      return fmt::format("is served by {}, for which requests waited {}", worker_of(*this),
                         shown(took));
    case kind::xid:
      return fmt::format("has reported Xid {}", count);
  }
  return {};
}

}  // namespace troupe
