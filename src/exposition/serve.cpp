#include "exposition/access.hpp"
#include "exposition/health_monitor.hpp"
#include "exposition/http/http_server.hpp"
#include "exposition/live_facts.hpp"
#include "exposition/page/page.hpp"
#include "exposition/top_text.hpp"

#include <troupe/core/system.hpp>
#include <troupe/telemetry/prometheus_text.hpp>
#include <troupe/telemetry/serve.hpp>
#include <troupe/telemetry/snapshot.hpp>
#include <troupe/telemetry/trace.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <optional>
#include <system_error>
#include <utility>

namespace troupe::telemetry {
namespace {

constexpr std::string_view json = "application/json";
constexpr std::string_view faults = "/faults/";

bool is_health(std::string_view path) {
  return path == "/livez" || path == "/v2/health/live" || path == "/readyz" ||
         path == "/v2/health/ready" || path == "/health" || path == "/healthz";
}

// The number that all of `text` is.
template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number made{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), made);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return made;
}

// Answers `/trace.json?seconds=5` with the last moments.
http_response trace_of(const troupe::system& system, std::string_view query) {
  constexpr std::int64_t most_seconds = 3600;
  const std::string_view given = query_value(query, "seconds");
  const auto seconds =
      given.empty() ? std::optional<std::int64_t>(5) : number_of<std::int64_t>(given);
  if (!seconds || *seconds < 0) return refusal(400, "seconds must be a whole number, 0 or more");
  return {.type = std::string(json),
          .body = trace_json(system, std::chrono::seconds(std::min(*seconds, most_seconds)))};
}

// Answers `/faults/0-17.json` with the moments before event 17 of device 0, a loss.
http_response trace_of_fault(const troupe::system& system, std::string_view path) {
  path.remove_prefix(faults.size());
  const std::size_t dash = path.find('-');
  if (path.ends_with(".json") && dash != std::string_view::npos) {
    path.remove_suffix(std::string_view(".json").size());
    const auto device = number_of<std::int32_t>(path.substr(0, dash));
    const auto event = number_of<std::uint64_t>(path.substr(std::min(dash + 1, path.size())));
    if (device && event) {
      if (auto kept = trace_of_loss(system, *device, *event))
        return {.type = std::string(json), .body = *std::move(kept)};
    }
  }
  return refusal(404, "no trace is kept of that; of the last four losses there is one");
}

std::string key_of_next_server() {
  static std::atomic<std::uint64_t> made{0};
  return fmt::format("telemetry server {}", made.fetch_add(1, std::memory_order_relaxed));
}

}  // namespace

// Ends with its system, as the service that it is, or before.
struct server::parts final : system_service {
  parts(troupe::system& of, const serve_options& options, access who)
      : system(&of), who_sees(std::move(who)), health(of, options), live(of, health) {}
  ~parts() override { close(); }

  void stop() noexcept override { close(); }
  void close() noexcept {
    if (http) http->close();
  }

  [[nodiscard]] std::optional<http_response> answer_at_once(const http_request& r) {
    if (is_health(r.path)) return answer_health(r);
    if (auto refused = who_sees.refuse(r)) return refused;
    if (r.path == "/") {
      return http_response{
          .type = "text/html; charset=utf-8",
          .body = std::string(page),
          .headers =
              fmt::format("Content-Security-Policy: {}\r\nX-Frame-Options: DENY\r\n", page_policy)};
    }
    for (const std::string_view one :
         {"/metrics", "/snapshot.json", "/events", "/trace.json", "/top"}) {
      if (r.path == one) return std::nullopt;
    }
    if (r.path.starts_with(faults)) return std::nullopt;
    return refusal(
        404, "/  /metrics  /livez  /readyz  /healthz  /snapshot.json  /events  /trace.json  /top");
  }

  [[nodiscard]] http_response answer_health(const http_request& r) {
    const health_verdict verdict = health.judge();
    const bool is_live = r.path == "/livez" || r.path == "/v2/health/live";
    const bool is_well = is_live                ? verdict.is_live()
                         : r.path == "/healthz" ? verdict.is_live() && verdict.is_ready()
                                                : verdict.is_ready();
    http_response made{.status = is_well ? 200 : 503, .type = std::string(json)};
    // Load balancers have no token, and call the program by other names. They need the status.
    made.body = who_sees.tells_reasons(r)
                    ? to_json(verdict)
                    : fmt::format("{{\"{}\":{}}}\n", is_live ? "live" : "ready", is_well);
    if (!is_well) made.headers = "Retry-After: 1\r\n";
    return made;
  }

  [[nodiscard]] http_response answer(const http_request& r) {
    if (r.path == "/metrics") {
      return {.type = "text/plain; version=0.0.4; charset=utf-8",
              .body = metrics.write(system->snapshot())};
    }
    if (r.path == "/events") {
      return {.type = "text/event-stream", .body = live.beginning(r.last_event), .goes_on = true};
    }
    if (r.path == "/top") {
      return {.body = top.write(system->snapshot(), health.judge(), system->events(),
                                query_value(r.query, "sort"))};
    }
    if (r.path == "/trace.json") return trace_of(*system, r.query);
    if (r.path.starts_with(faults)) return trace_of_fault(*system, r.path);
    return {.type = std::string(json), .body = to_json(system->snapshot())};
  }

  troupe::system* system;
  access who_sees;
  health_monitor health;
  prometheus_text metrics{};  // like the next two, of the thread that answers
  live_facts live;
  top_text top{};
  std::string address{};
  std::uint16_t port = 0;
  std::string socket{};
  std::optional<http_server> http{};
};

result<server> serve(troupe::system& system, const serve_options& options) {
  auto who = access::make(options.address, options.token);
  if (!who) return std::move(who).error();
  auto port = listen_at(options.address, options.port);
  if (!port) return std::move(port).error();
  auto made = std::make_shared<server::parts>(system, options, *std::move(who));
  made->who_sees.set_port(port->port);
  made->port = port->port;
  made->address = options.address.find(':') == std::string::npos ? options.address
                                                                 : "[" + options.address + "]";
  std::vector<listener> listeners;
  listeners.push_back(*std::move(port));
  if (options.socket) {
    if (auto local = listen_for_user()) {
      made->socket = local->path;
      listeners.push_back(*std::move(local));
    }
  }
  server::parts& its = *made;
  try {
    its.http.emplace(http_server::parts{
        .listeners = std::move(listeners),
        .answer_at_once = [&its](const http_request& r) { return its.answer_at_once(r); },
        .answer = [&its](const http_request& r) { return its.answer(r); },
        .next_piece = [&its] { return its.live.next(); },
        .look = [&its] { (void)its.health.judge(); }});
  } catch (const std::system_error& why) {
    return system_failure("thread", why.code().value(), why.what());
  }
  auto attached = system.service(key_of_next_server(), [made] { return made; });
  if (!attached) return error{.code = errc::device_stopped, .message = "the system has shut down"};
  return server(std::move(made));
}

server::server(std::shared_ptr<parts> made) noexcept : parts_(std::move(made)) {}
server::server(server&&) noexcept = default;
server& server::operator=(server&& other) noexcept {
  if (this != &other) {
    close();
    parts_ = std::move(other.parts_);
  }
  return *this;
}
server::~server() { close(); }

std::string server::url() const {
  const std::string& token = parts_->who_sees.token();
  return fmt::format("http://{}:{}/{}{}", parts_->address, parts_->port,
                     token.empty() ? "" : "?token=", token);
}
std::uint16_t server::port() const noexcept { return parts_->port; }
std::string server::socket_path() const { return parts_->socket; }
void server::close() noexcept {
  if (parts_) parts_->close();
}

}  // namespace troupe::telemetry
