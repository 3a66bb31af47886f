// The ring of ended requests, and the queue of a trace file.
#include "telemetry/flight_recorder.hpp"

#include "telemetry/bounded_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using clock = std::chrono::steady_clock;

TEST(FlightRecorder, IsReadWhileWritten) {
  constexpr std::uint64_t requests = 200'000;
  flight_recorder recorder(64);
  std::atomic<bool> over{false};
  const std::jthread writer([&] {
    for (std::uint64_t i = 1; i <= requests; ++i)
      recorder.note({.name = "lane.marker", .id = i, .tag = 3 * i, .ended = clock::now()});
    over = true;
  });
  for (bool last = false; !last;) {
    last = over;
    std::uint64_t before = 0;
    for (const flight_record& r : recorder.since({})) {
      ASSERT_EQ(r.tag, 3 * r.id) << "a copy of two requests";
      ASSERT_TRUE(before == 0 || r.id == before + 1);
      before = r.id;
    }
  }
  EXPECT_EQ(recorder.since({}).size(), 64u);
  EXPECT_EQ(recorder.since({}).back().id, requests);
  EXPECT_TRUE(recorder.since(clock::now()).empty());
}

TEST(FlightRecorder, KeepsTheLastFourLosses) {
  flight_recorder recorder(8);
  for (std::uint64_t i = 1; i <= 6; ++i) {
    recorder.note({.name = "lane.marker", .id = i, .ended = clock::now()});
    recorder.keep({.what = device_event::kind::lost, .number = i});
  }
  EXPECT_FALSE(recorder.of_loss(2));
  for (std::uint64_t i = 3; i <= 6; ++i)
    EXPECT_EQ(recorder.of_loss(i).value().requests.size(), i);
}

TEST(BoundedQueue, LosesNothingAndKeepsTheOrderOfEachThread) {
  constexpr std::uint64_t each = 50'000;
  bounded_queue<std::pair<std::uint64_t, std::uint64_t>> queue(16);
  const auto put = [&](std::uint64_t who) {
    for (std::uint64_t i = 1; i <= each;)
      if (queue.put({who, i})) ++i;
  };
  const std::jthread one(put, 0);
  const std::jthread other(put, 1);
  std::uint64_t seen[2] = {0, 0};
  while (seen[0] + seen[1] < 2 * each) {
    std::pair<std::uint64_t, std::uint64_t> next;
    if (!queue.take(next)) continue;
    ASSERT_EQ(next.second, ++seen[next.first]);
  }
}

}  // namespace
}  // namespace troupe
