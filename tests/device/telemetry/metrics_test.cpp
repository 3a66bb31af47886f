// The facts of a snapshot: they add up at every moment, whatever happens to workers.

#include "device/fixtures/device_under_fault.hpp"

#include <troupe/blas/level3.hpp>
#include <troupe/fault/inject.hpp>
#include <troupe/lane/marker.hpp>
#include <troupe/memory/fill.hpp>
#include <troupe/telemetry/snapshot.hpp>

#include <gtest/gtest.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <string_view>
#include <thread>
#include <vector>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

void expect_sums(const device_telemetry& d) {
  const device_statistics& s = d.statistics;
  ASSERT_EQ(s.sent, s.answered + s.failed + s.in_flight);
  std::uint64_t done = 0;
  std::uint64_t failed = 0;
  for (const operation_telemetry& one : d.operations) {
    done += one.done;
    failed += one.failures();
  }
  ASSERT_EQ(done, s.answered);
  ASSERT_EQ(failed, s.failed);
}

operation_telemetry of(const device_telemetry& d, std::string_view name) {
  const auto found = std::ranges::find(d.operations, name, &operation_telemetry::name);
  return found == d.operations.end() ? operation_telemetry{} : *found;
}

// Its events agree with its health, and say what the faults were.
void expect_faults(const device_telemetry& d) {
  const auto lost =
      std::ranges::find(d.events, device_event::kind::lost, &event_count::what)->count;
  EXPECT_EQ(lost, d.health.restarts);
  std::uint64_t faults = 0;
  for (const fault_count& one : d.faults) {
    faults += one.count;
    EXPECT_TRUE(one.kind == "assert" || one.kind == "killed") << one.kind;
    EXPECT_TRUE(one.kind == "killed" || one.library == "fault") << one.library;
  }
  EXPECT_EQ(faults, lost);
}

TEST(Metrics, CountsEveryRequestOnceUnderFaults) {
  troupe::system system({.log = [](const log_entry&) {}});
  device_config config = permissive();
  config.restarts = {.restarts = 1000};
  config.quarantine = 0ns;
  device gpu = system.device(0, config);
  ASSERT_TRUE(gpu.wait_until_ready());
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> sent{1};  // `wait_until_ready`
  const auto load = [&](unsigned seed) {
    auto t = gpu.tensor<float>({64}).value();
    auto wrong = gpu.tensor<float>({2, 3}).value();
    for (unsigned i = seed; !over; ++i) {
      sent += 2;
      auto filled = gpu.ask(memory::fill{.to = t, .value = 1});
      if (i % 997 == 0) {
        ++sent;
        EXPECT_FALSE(ended(gpu.ask(fault::inject{.what = fault::kind::abort})));
      }
      if (i % 13 == 0) {
        ++sent;
        EXPECT_FALSE(ended(gpu.ask(blas::gemm{.a = wrong, .b = wrong, .c = wrong})));
      }
      (void)ended(std::move(filled));
      (void)ended(gpu.ask(lane::marker{}));
    }
  };
  std::uint64_t looks = 0;
  {
    const std::jthread one(load, 0u);
    const std::jthread other(load, 50u);
    const auto begin = std::chrono::steady_clock::now();
    for (int kills = 0; kills < 4; ++looks) {
      expect_sums(gpu.snapshot());
      const auto pid = gpu.worker_pid();
      if (!pid || std::chrono::steady_clock::now() - begin < (kills + 1) * 200ms) continue;
      ::kill(*pid, SIGKILL);
      ++kills;
    }
    over = true;
  }
  ASSERT_TRUE(gpu.drain(10s));
  const telemetry_snapshot now = system.snapshot();
  ASSERT_EQ(now.devices.size(), 1u);
  const device_telemetry& d = now.devices[0];
  expect_sums(d);
  EXPECT_EQ(d.statistics.sent, sent);
  EXPECT_EQ(d.statistics.in_flight, 0u);
  EXPECT_GT(looks, 100u);
  EXPECT_GT(of(d, "memory.fill").done, 0u);
  const auto refused = of(d, "blas.gemm").failed;
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].code, errc::shape_mismatch);
  EXPECT_EQ(of(d, "fault.inject").done, 0u);
  expect_faults(d);
  EXPECT_EQ(d.last_event, gpu.events().back().number);
  EXPECT_GT(d.failovers.count(), 0u);
}

TEST(Metrics, ShowHowMuchMemoryIsFrozenOrTainted) {
  troupe::system system({.log = [](const log_entry&) {}});
  device gpu = system.device(0, permissive());
  auto weights = gpu.tensor<float>({1 << 20}, initial::zero).value();
  auto half_written = gpu.tensor<float>({1 << 10}).value();
  EXPECT_EQ(gpu.snapshot().frozen_bytes + gpu.snapshot().tainted_bytes, 0u);
  ASSERT_TRUE(ended(gpu.freeze(weights)));
  EXPECT_GE(gpu.snapshot().frozen_bytes, std::uint64_t{4} << 20);
  EXPECT_FALSE(ended(gpu.ask(fault::inject{.what = fault::kind::abort, .output = half_written})));
  EXPECT_GE(gpu.snapshot().tainted_bytes, std::uint64_t{4} << 10);
  ASSERT_TRUE(ended(gpu.ask(memory::fill{.to = half_written, .value = 1})));
  EXPECT_EQ(gpu.snapshot().tainted_bytes, 0u);
}

TEST(Metrics, OfADeviceShowWhetherItsThreadTurns) {
  troupe::system system;
  device gpu = system.device(0, permissive());
  ASSERT_TRUE(gpu.wait_until_ready());
  const auto first = std::chrono::steady_clock::now();
  EXPECT_TRUE(eventually([&] { return gpu.snapshot().last_turn > first; }));
}

TEST(Metrics, BucketsHoldTheDurationsBelowTheirBounds) {
  using histogram = duration_histogram;
  for (std::int64_t ns = 1; ns < std::int64_t{1} << 40; ns += 1 + ns / 7) {
    const std::chrono::nanoseconds d(ns);
    const std::size_t b = histogram::bucket_of(d);
    EXPECT_TRUE(d < histogram::bound_of(b) || b == histogram::buckets - 1) << ns;
    EXPECT_TRUE(b == 0 || d >= histogram::bound_of(b - 1)) << ns;
  }
  histogram h;
  for (int i = 0; i < 99; ++i)
    h.observe(1ms);
  h.observe(1s);
  EXPECT_EQ(h.count(), 100u);
  EXPECT_EQ(h.count_below(100ms), 99u);
  EXPECT_GE(h.quantile(0.5), 1ms);
  EXPECT_LE(h.quantile(0.99), 1190us);
  EXPECT_GE(h.quantile(1), 1s);
}

TEST(Metrics, AsJsonAreValidWhateverTheTextsHold) {
  EXPECT_EQ(json_text("a\"b\\c\n\x7f"), R"("a\"b\\c\u000a\u007f")");
  EXPECT_EQ(json_text("gr\xc3\xb6\xc3\x9f"
                      "e \xf0\x9f\x98\x80"),
            "\"gr\xc3\xb6\xc3\x9f"
            "e \xf0\x9f\x98\x80\"");
  EXPECT_EQ(json_text("\xff|\xc0\xaf|\xed\xa0\x80|\xc3"),
            R"("\ufffd|\ufffd\ufffd|\ufffd\ufffd\ufffd|\ufffd")");
  telemetry_snapshot s;
  s.devices.emplace_back().quarantine.push_back({.request = "a\"\xff"});
  const std::string text = to_json(s);
  EXPECT_NE(text.find(R"("request":"a\"\ufffd")"), std::string::npos) << text;
}

}  // namespace
}  // namespace troupe::test
