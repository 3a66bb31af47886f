// Whether health says what a request would meet.

#include "telemetry/client.hpp"

#include <troupe/device/device.hpp>
#include <troupe/fault/inject.hpp>
#include <troupe/fault/spin_until.hpp>
#include <troupe/lane/marker.hpp>
#include <troupe/telemetry/serve.hpp>
#include <troupe/telemetry/snapshot.hpp>

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

class Health : public ::testing::Test {
 protected:
  [[nodiscard]] device make_device(bool standby = false) {
    device made = system_.device(0, {.backend = backend_kind::cpu,
                                     .standby = standby,
                                     .restarts = {.restarts = 1000},
                                     .fault_injection = true});
    EXPECT_TRUE(made.wait_until_ready());
    return made;
  }
  [[nodiscard]] telemetry::server serve(telemetry::serve_options options = {}) {
    options.socket = false;
    return std::move(telemetry::serve(system_, options)).value();
  }
  [[nodiscard]] std::uint64_t markers() const {
    std::uint64_t all = 0;
    const telemetry_snapshot now = system_.snapshot();
    for (const operation_telemetry& one : now.devices.at(0).operations) {
      if (one.name == "lane.marker") all += one.done;
    }
    return all;
  }

  troupe::system system_;
};

TEST_F(Health, TellsThatADeviceHasStoppedWithinTenMilliseconds) {
  const telemetry::server shown = serve();
  device gpu = make_device();
  std::vector<clock::duration> took;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(ask(shown.port(), "/readyz").status, 200);
    gpu.stop();
    const auto begin = clock::now();
    const reply stopped = ask(shown.port(), "/readyz");
    took.push_back(clock::now() - begin);
    EXPECT_EQ(stopped.status, 503);
    EXPECT_NE(stopped.head.find("Retry-After: 1"), std::string::npos);
    EXPECT_NE(stopped.body.find("\"status\":\"stopped\""), std::string::npos) << stopped.body;
    EXPECT_EQ(ask(shown.port(), "/livez").status, 200);
    EXPECT_EQ(ask(shown.port(), "/healthz").status, 503);
    ASSERT_TRUE(gpu.restart());
    ASSERT_TRUE(gpu.wait_until_ready());
  }
  std::ranges::sort(took);
  EXPECT_LT(took[took.size() / 2], 10ms);
}

TEST_F(Health, NoticesAHungLane) {
  const telemetry::server shown = serve({.fresh = 200ms});
  device gpu = make_device();
  EXPECT_EQ(ask(shown.port(), "/readyz").status, 200);
  const pid_t worker = gpu.worker_pid().value();
  ASSERT_EQ(::kill(worker, SIGSTOP), 0);
  reply hung;
  EXPECT_TRUE(soon([&] { return (hung = ask(shown.port(), "/readyz")).status == 503; }));
  EXPECT_NE(hung.body.find("\"status\":\"hung\""), std::string::npos) << hung.body;
  EXPECT_NE(hung.body.find("a probe was not answered"), std::string::npos) << hung.body;
  EXPECT_EQ(ask(shown.port(), "/livez").status, 200);
  ASSERT_EQ(::kill(worker, SIGCONT), 0);
  EXPECT_TRUE(soon([&] { return ask(shown.port(), "/readyz").status == 200; }));
}

TEST_F(Health, ProbesOnlyWhereNothingEnds) {
  const telemetry::server shown = serve({.fresh = 500ms});
  device gpu = make_device();
  const std::uint64_t before = markers();
  const auto end = clock::now() + 1200ms;  // a look of its own
  while (clock::now() < end) {
    gpu.ask(fault::inject{.what = fault::kind::spin, .duration_ns = 1000}).get();
    EXPECT_EQ(ask(shown.port(), "/readyz").status, 200);
  }
  EXPECT_EQ(markers(), before);
  std::this_thread::sleep_for(600ms);
  EXPECT_TRUE(
      soon([&] { return ask(shown.port(), "/readyz").status == 200 && markers() > before; }));
}

// A 200 is tried at once: the next request must be answered.
TEST_F(Health, IsReadyWhileWorkersAreKilled) {
  const telemetry::server shown = serve({.grace = 20s});
  device gpu = make_device(true);
  std::atomic<bool> ends{false};
  std::jthread killer([&] {
    while (!ends) {
      if (const auto worker = gpu.worker_pid()) ::kill(*worker, SIGKILL);
      std::this_thread::sleep_for(50ms);
    }
  });
  const auto end = clock::now() + 1s;
  int looks = 0;
  while (clock::now() < end) {
    const reply told = ask(shown.port(), "/readyz");
    EXPECT_EQ(told.status, 200) << told.body;
    const auto answer = gpu.ask(lane::marker{}).get_result();
    EXPECT_TRUE(answer) << answer.error().to_string();
    ++looks;
  }
  ends = true;
  killer.join();
  EXPECT_GT(looks, 10);
  EXPECT_TRUE(soon([&] { return gpu.health().state == device_state::ready; }));
  // Each loss is counted once, with its cause.
  const std::string metrics = ask(shown.port(), "/metrics").body;
  EXPECT_NE(metrics.find("troupe_faults_total{device=\"0\",kind=\"killed\",library=\"\"} " +
                         std::to_string(gpu.health().restarts) + "\n"),
            std::string::npos)
      << metrics.substr(metrics.find("# TYPE troupe_faults_total"), 400);
}

}  // namespace
}  // namespace troupe::test
