// Requests whose times are taken: tags, the flight recorder, and traces of it.

#include "device/fixtures/device_under_fault.hpp"
#include "device/fixtures/operations_queues.hpp"

#include <troupe/device/request_tracer.hpp>
#include <troupe/fault/inject.hpp>
#include <troupe/lane/marker.hpp>
#include <troupe/memory/fill.hpp>
#include <troupe/telemetry/snapshot.hpp>
#include <troupe/telemetry/trace.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

system_config sampling(std::uint32_t sample) {
  return {.log = [](const log_entry&) {}, .metrics = {.sample = sample}};
}

timed_requests times_of(const device& gpu, std::string_view operation) {
  const device_telemetry now = gpu.snapshot();
  const auto found = std::ranges::find(now.operations, operation, &operation_telemetry::name);
  return found == now.operations.end() ? timed_requests{} : found->timed.value_or(timed_requests{});
}

TEST(FlightRecorder, HoldsTheLastTwoSecondsOfAFault) {
  troupe::system system(sampling(1));
  device gpu = system.device(0, permissive());
  auto t = gpu.tensor<float>({64}).value();
  ASSERT_TRUE(ended(gpu.ask(memory::fill{.to = t, .value = 1}, {.tag = 42})));
  EXPECT_FALSE(ended(gpu.ask(fault::inject{.what = fault::kind::abort})));
  ASSERT_TRUE(ended(gpu.ask(lane::marker{})));
  const auto lost = [&] {
    const auto all = gpu.events();
    return std::ranges::find(all, device_event::kind::lost, &device_event::what)->number;
  };
  const auto has = [](const std::string& trace, std::string_view what) {
    return trace.find(what) != std::string::npos;
  };
  const std::string kept = trace_of_loss(system, 0, lost()).value();
  EXPECT_TRUE(has(kept, R"("ph":"X","name":"memory.fill")")) << kept;
  EXPECT_TRUE(has(kept, R"("tag":42)")) << kept;
  EXPECT_TRUE(has(kept, R"("name":"fault.inject","cat":"failed")")) << kept;
  EXPECT_TRUE(has(kept, "SIGABRT")) << kept;
  EXPECT_FALSE(trace_of_loss(system, 0, lost() + 1));
  EXPECT_FALSE(trace_of_loss(system, 1, lost()));
  ASSERT_TRUE(eventually([&] { return has(trace_json(system, 60s), R"("name":"failover")"); }));
  EXPECT_TRUE(has(trace_json(system, 60s), R"("name":"memory.fill")"));
  EXPECT_FALSE(has(trace_json(system, -1s), "memory.fill"));
}

TEST(FlightRecorder, HasEachFailureAlsoWithoutTimes) {
  troupe::system system(sampling(0));
  device gpu = system.device(0, permissive());
  ASSERT_TRUE(ended(gpu.ask(lane::marker{})));
  EXPECT_FALSE(ended(gpu.ask(fault::inject{.what = fault::kind::exception})));
  const std::string trace = trace_json(system, 60s);
  EXPECT_NE(trace.find(R"("ph":"i","s":"t","name":"fault.inject")"), std::string::npos) << trace;
  EXPECT_EQ(trace.find("lane.marker"), std::string::npos) << trace;
}

TEST(Tag, FollowsItsRequestThroughReplay) {
  class witness final : public request_tracer {
   public:
    void after_completion(const traced_request& r, const request_times&,
                          const error*) noexcept override {
      if (r.tag == 7) ++heard;
    }
    std::atomic<int> heard{0};
  };
  constexpr int requests = 50;
  const auto first = std::make_shared<witness>();
  const auto second = std::make_shared<witness>();
  troupe::system system(sampling(1));
  device_config config = permissive();
  config.tracer =
      std::make_shared<tracer_list>(std::vector<std::shared_ptr<request_tracer>>{first, second});
  device gpu = system.device(0, config);
  auto t = gpu.tensor<float>({64}).value();
  ASSERT_TRUE(gpu.wait_until_ready());
  for (int i = 0; i < requests; ++i) {
    if (i == requests / 2) kill_worker(gpu);
    EXPECT_TRUE(gpu.tell(memory::fill{.to = t, .value = i}, {.tag = 7}));
  }
  ASSERT_TRUE(gpu.drain(10s));
  const auto tags = gpu.snapshot().tags;
  const auto mine = std::ranges::find(tags, 7u, &tag_time::tag);
  ASSERT_NE(mine, tags.end());
  EXPECT_EQ(mine->requests, static_cast<std::uint64_t>(requests));
  if (queues_plugin().empty()) {  // queues have no clock
    EXPECT_GT(mine->device, 0ns);
  }
  EXPECT_EQ(first->heard, requests);
  EXPECT_EQ(second->heard, requests);
}

TEST(Metrics, SampledTimesAgreeWithAll) {
  class witness final : public request_tracer {
   public:
    void after_completion(const traced_request& r, const request_times&,
                          const error*) noexcept override {
      const std::lock_guard lock(mutex_);
      all_.observe(std::chrono::steady_clock::now() - r.sent);
    }
    [[nodiscard]] duration_histogram all() {
      const std::lock_guard lock(mutex_);
      return all_;
    }

   private:
    std::mutex mutex_;
    duration_histogram all_;
  };
  constexpr std::uint32_t sample = 8;
  constexpr int requests = 20'000;
  const auto heard = std::make_shared<witness>();
  troupe::system system(sampling(sample));
  device_config config = permissive();
  config.tracer = heard;
  device gpu = system.device(0, config);
  for (int i = 0; i < requests; ++i)
    (void)ended(gpu.ask(lane::marker{}));
  const timed_requests drawn = times_of(gpu, "lane.marker");
  const duration_histogram all = heard->all();
  EXPECT_EQ(all.count(), static_cast<std::uint64_t>(requests));
  constexpr double mean = static_cast<double>(requests) / sample;
  EXPECT_NEAR(static_cast<double>(drawn.count), mean, mean / 10);
  for (const double q : {0.25, 0.5, 0.75}) {
    EXPECT_LE(drawn.duration.quantile(q), 2 * all.quantile(q));
    EXPECT_LE(all.quantile(q), 2 * drawn.duration.quantile(q));
  }
  const request_times& parts = drawn.sums;
  EXPECT_GT(parts.queue + parts.launch, 0ns);
  EXPECT_LE(parts.queue + parts.launch, drawn.duration.sum);
}

}  // namespace
}  // namespace troupe::test
