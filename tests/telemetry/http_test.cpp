// The server's responses, who gets them, and clients that do not behave.

#include "telemetry/client.hpp"

#include <troupe/blas/level3.hpp>
#include <troupe/device/device.hpp>
#include <troupe/lane/marker.hpp>
#include <troupe/telemetry/serve.hpp>
#include <troupe/telemetry/snapshot.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

// A system with a device that has done a little.
class Http : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(gpu_.wait_until_ready());
    gpu_.ask(lane::marker{}).get();
  }
  [[nodiscard]] telemetry::server serve(telemetry::serve_options options = {}) {
    options.socket = false;
    return std::move(telemetry::serve(system_, options)).value();
  }

  troupe::system system_;
  device gpu_ = system_.device(0, {.backend = backend_kind::cpu});
};

constexpr std::string_view token = "0123456789abcdef";

TEST_F(Http, ServesThePageTheFactsAndHealth) {
  const telemetry::server shown = serve();
  EXPECT_EQ(shown.url(), "http://127.0.0.1:" + std::to_string(shown.port()) + "/");
  const reply page = ask(shown.port(), "/");
  EXPECT_EQ(page.status, 200);
  EXPECT_NE(page.head.find("Content-Security-Policy: default-src 'none'; script-src 'sha256-"),
            std::string::npos);
  EXPECT_NE(page.body.find("<title>Troupe</title>"), std::string::npos);
  EXPECT_EQ(page.body.find("{{page."), std::string::npos);
  const reply metrics = ask(shown.port(), "/metrics");
  EXPECT_NE(metrics.body.find(
                "troupe_requests_total{device=\"0\",operation=\"lane.marker\",outcome=\"done\"} "),
            std::string::npos)
      << metrics.body;
  EXPECT_EQ(ask(shown.port(), "/snapshot.json").body.find("{\"version\":"), 0);
  for (const char* path : {"/livez", "/readyz", "/healthz", "/health", "/v2/health/ready"})
    EXPECT_EQ(ask(shown.port(), path).status, 200) << path;
  EXPECT_NE(ask(shown.port(), "/top").body.find("lane.marker"), std::string::npos);
  EXPECT_EQ(ask(shown.port(), "/trace.json?seconds=3").status, 200);
  EXPECT_EQ(ask(shown.port(), "/trace.json?seconds=9223372036854775807").status, 200);
  for (const char* wrong : {"-1", "NaN", "1e9", "9223372036854775808", "5x"})
    EXPECT_EQ(ask(shown.port(), std::string("/trace.json?seconds=") + wrong).status, 400) << wrong;
  for (const char* wrong :
       {"/faults/", "/faults/0-1.json", "/faults/-.json", "/faults/../x-1.json"})
    EXPECT_EQ(ask(shown.port(), wrong).status, 404) << wrong;
  EXPECT_EQ(ask(shown.port(), "/favicon.ico").status, 404);
}

TEST_F(Http, RefusesOtherHosts) {
  const telemetry::server shown = serve();
  EXPECT_EQ(ask(shown.port(), "/metrics", "Host: evil.example\r\n").status, 403);
  EXPECT_EQ(ask(shown.port(), "/metrics", "").status, 403);
  EXPECT_EQ(ask(shown.port(), "/metrics", "Host: 127.0.0.1.evil.example\r\n").status, 403);
  EXPECT_EQ(ask(shown.port(), "/metrics", "Host: localhost\r\nHost: evil.example\r\n").status, 400);
  EXPECT_EQ(ask(shown.port(), "/metrics", "hOST:   LocalHost:9464 \r\n").status, 200);
  // A load balancer calls it by a name of its own. It needs the status, and gets no reasons.
  const reply health = ask(shown.port(), "/readyz", "Host: 10.0.0.7\r\n");
  EXPECT_EQ(health.status, 200);
  EXPECT_EQ(health.body, "{\"ready\":true}\n");
}

TEST_F(Http, RefusesOtherMethodsBodiesAndGarbage) {
  const telemetry::server shown = serve();
  const auto sent = [&](const std::string& bytes) { return send_raw(shown.port(), bytes).status; };
  for (const char* method : {"POST", "HEAD", "PUT", "DELETE", "get", ""})
    EXPECT_EQ(sent(std::string(method) + " / HTTP/1.1\r\nHost: localhost\r\n\r\n"), 405) << method;
  EXPECT_EQ(sent("GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"), 413);
  EXPECT_EQ(sent("GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"), 413);
  EXPECT_EQ(sent("GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400);
  EXPECT_EQ(sent("GET / HTTP/2\r\n\r\n"), 400);
  EXPECT_EQ(sent("\r\n\r\n"), 400);
  EXPECT_EQ(sent(std::string("\0\xff\r\n\r\n", 6)), 400);
}

TEST_F(Http, RefusesLongHeads) {
  const telemetry::server shown = serve();
  const std::string begin = "GET / HTTP/1.1\r\nHost: localhost\r\n";
  EXPECT_EQ(send_raw(shown.port(), begin + "X: " + std::string(9000, 'x')).status, 431);
  std::string lines = begin;
  while (lines.size() < 1'000'000)
    lines += "X: y\r\n";
  EXPECT_EQ(send_raw(shown.port(), lines).status, 431);
  EXPECT_EQ(ask(shown.port(), "/" + std::string(3000, 'x')).status, 414);
}

TEST_F(Http, RefusesWithoutToken) {
  telemetry::server shown = serve({.token = std::string(token)});
  const std::uint16_t port = shown.port();
  const std::string host = "Host: any.example\r\n";
  const auto with = [&](const std::string& field) {
    return ask(port, "/metrics", host + field).status;
  };
  const std::string right(token);
  EXPECT_EQ(with(""), 401);
  EXPECT_EQ(with("Authorization: Bearer " + right + "\r\n"), 200);
  for (const std::string& wrong : {right + "0", right.substr(1), std::string(), right + right})
    EXPECT_EQ(with("Authorization: Bearer " + wrong + "\r\n"), 401) << wrong;
  EXPECT_EQ(with("Authorization: Basic " + right + "\r\n"), 401);
  EXPECT_EQ(ask(port, "/metrics?token=" + right, host).status, 401);
  const std::string cookie = "troupe_" + std::to_string(port) + "=" + right;
  EXPECT_EQ(with("Cookie: a=b; " + cookie + "; c=d\r\n"), 200);
  EXPECT_EQ(with("Cookie: a=" + cookie + "\r\n"), 401);
  // In a browser: the token leaves the address bar at once.
  EXPECT_TRUE(shown.url().ends_with("/?token=" + right));
  const reply first = ask(port, "/?token=" + right, host);
  EXPECT_EQ(first.status, 303);
  EXPECT_NE(first.head.find("Location: /\r\n"), std::string::npos);
  EXPECT_NE(first.head.find("Set-Cookie: " + cookie + "; HttpOnly; SameSite=Strict"),
            std::string::npos);
  EXPECT_EQ(ask(port, "/?token=" + right.substr(1), host).status, 401);
  // Health has no secrets but its reasons.
  EXPECT_EQ(ask(port, "/livez", host).body, "{\"live\":true}\n");
}

TEST_F(Http, WantsATokenForOtherAddresses) {
  const auto code = [&](const telemetry::serve_options& options) {
    const auto made = telemetry::serve(system_, options);
    return made ? errc{} : made.error().code;
  };
  EXPECT_EQ(code({.address = "0.0.0.0"}), errc::invalid_argument);
  EXPECT_EQ(code({.address = "::"}), errc::invalid_argument);
  EXPECT_EQ(code({.address = "localhost"}), errc::invalid_argument);
  EXPECT_EQ(code({.address = "0.0.0.0", .token = "short"}), errc::invalid_argument);
  EXPECT_EQ(code({.token = "0123456789abcde\r\n"}), errc::invalid_argument);
  EXPECT_EQ(code({.address = "0.0.0.0", .token = std::string(token)}), errc{});
  const telemetry::server first = serve();
  EXPECT_EQ(code({.port = first.port()}), errc::system_error);
}

TEST_F(Http, AnswersWhileSlowClientsHoldConnections) {
  const telemetry::server shown = serve();
  std::vector<os::unique_fd> slow;
  for (int i = 0; i < 200; ++i) {
    slow.push_back(connect_to(shown.port()));
    ASSERT_TRUE(put(slow.back(), "GET /metrics HTTP/1.1\r\nHost: loc"));
  }
  for (int i = 0; i < 20; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(ask(shown.port(), "/readyz").status, 200);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 500ms);
    for (const os::unique_fd& one : slow)
      (void)put(one, "a");
  }
}

TEST_F(Http, SurvivesAThousandConnections) {
  const telemetry::server shown = serve();
  std::vector<os::unique_fd> all;
  for (int i = 0; i < 200; ++i) {
    all.push_back(connect_to(shown.port()));
    if (i % 2 == 0) (void)put(all.back(), "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    // Gone before it has its answer.
    if (i % 4 == 0) all.pop_back();
  }
  EXPECT_TRUE(soon([&] { return ask(shown.port(), "/metrics").status == 200; }));
  all.clear();
  for (int i = 0; i < 800; ++i)
    EXPECT_EQ(ask(shown.port(), "/livez").status, 200);
}

TEST_F(Http, StreamsRowsAndEventsAndAtMostEightTimes) {
  const telemetry::server shown = serve();
  const auto stream = [&](const std::string& fields = {}) {
    os::unique_fd made = connect_to(shown.port());
    (void)put(made, "GET /events HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n");
    return made;
  };
  const os::unique_fd first = stream();
  const std::string told = take(first, "event: device\ndata:");
  EXPECT_NE(told.find("text/event-stream"), std::string::npos);
  EXPECT_NE(told.find("event: rows\ndata: {\"all\":true,\"rows\":{\"device 0\":{"),
            std::string::npos)
      << told;
  EXPECT_NE(told.find("\nid: 0-1\n"), std::string::npos) << told;
  // Who has seen an event is not told it again, and a number of another life means nothing.
  const std::string again = take(stream("Last-Event-ID: 0-1\r\n"), "event: rows");
  EXPECT_EQ(again.find("\nid: 0-1\n"), std::string::npos) << again;
  for (const char* number : {"0-99999", "-1-7", "x", "0-18446744073709551616", "99-"}) {
    const std::string all =
        take(stream("Last-Event-ID: " + std::string(number) + "\r\n"), "event: device\ndata:");
    EXPECT_NE(all.find("\nid: 0-1\n"), std::string::npos) << number;
  }
  // Changes come by themselves.
  gpu_.ask(lane::marker{}).get();
  EXPECT_NE(take(first, "operation 0 lane.marker").find("\"all\":false"), std::string::npos);
  std::vector<os::unique_fd> more;
  EXPECT_TRUE(soon([&] {
    more.push_back(stream());
    return take(more.back(), "\r\n").starts_with("HTTP/1.1 503");
  }));
  EXPECT_LE(more.size(), 8 + 1);
  EXPECT_EQ(ask(shown.port(), "/metrics").status, 200);
}

TEST_F(Http, EndsWithItsSystem) {
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  };
  {
    const troupe::system warm_up;
  }
  const auto fds_before = descriptors();
  const auto threads_before = threads();
  std::string path;
  std::uint16_t port = 0;
  {
    troupe::system system;
    const auto shown = telemetry::serve(system);
    ASSERT_TRUE(shown);
    path = shown->socket_path();
    port = shown->port();
    struct stat found{};
    ASSERT_EQ(::stat(path.c_str(), &found), 0);
    const os::unique_fd reader = connect_to(port);
    (void)put(reader, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    (void)take(reader, "rows");
    (void)system.shutdown().get_result();
  }
  EXPECT_FALSE(connect_to(port));
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(soon([&] { return threads() <= threads_before; }));
  EXPECT_EQ(descriptors(), fds_before);
  troupe::system gone;
  (void)gone.shutdown().get_result();
}

// The names that boards, alerts and pages use. The page for users has all names, each with its
// labels: a new or another one is a change for users.
TEST_F(Http, HasAllNamesThatToolsUse) {
  const telemetry::server shown = serve();
  const std::string metrics = ask(shown.port(), "/metrics").body;
  const std::regex name("troupe_[a-z0-9_]+");
  std::ifstream page(std::string(TROUPE_SOURCE) + "/docs/guide/monitoring.md");
  std::vector<std::string> rows;
  for (std::string row; std::getline(page, row);)
    if (row.starts_with("| `troupe_")) rows.push_back(row);
  const std::regex label("([a-z]+)=\"");
  std::istringstream lines(metrics);
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (line.starts_with("# HELP") || !std::regex_search(line, found, name)) continue;
    const std::string base =
        std::regex_replace(found.str(), std::regex("_(bucket|sum|count)$"), "");
    const auto row = std::ranges::find_if(
        rows, [&](const std::string& one) { return one.find('`' + base + '`') != one.npos; });
    ASSERT_NE(row, rows.end()) << base;
    for (std::sregex_iterator at(line.begin(), line.end(), label), end; at != end; ++at) {
      if (const std::string one = (*at)[1]; one != "le") {
        EXPECT_NE(row->find(one, row->rfind("` | ")), row->npos) << base << ": " << one;
      }
    }
  }
  for (const char* file :
       {"tools/grafana/troupe.json", "tools/prometheus/alerts.yml", "docs/guide/monitoring.md"}) {
    std::ifstream from(std::string(TROUPE_SOURCE) + "/" + file);
    const std::string text((std::istreambuf_iterator<char>(from)), {});
    ASSERT_FALSE(text.empty()) << file;
    for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at) {
      const std::string base =
          std::regex_replace(at->str(), std::regex("_(bucket|sum|count)$"), "");
      EXPECT_NE(metrics.find("# TYPE " + base + " "), std::string::npos) << file << ": " << base;
    }
  }
}

}  // namespace
}  // namespace troupe::test
