// The journal of events, and their way to the log hook.
#include "telemetry/event_journal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using kind = device_event::kind;

TEST(EventJournal, KeepsTheLastOnesAndAReaderSeesWhichAreMissing) {
  event_journal journal(3);
  for (std::size_t i = 0; i < event_journal::capacity + 10; ++i)
    journal.record({.what = kind::lost, .why = error{.code = errc::device_fault}});
  const auto all = journal.since(0);
  ASSERT_EQ(all.size(), event_journal::capacity);
  EXPECT_EQ(all.front().number, 11U);
  EXPECT_EQ(all.front().device, 3);
  EXPECT_EQ(all.front().why->device, 3);
  EXPECT_NE(all.front().at, std::chrono::system_clock::time_point{});
  EXPECT_EQ(journal.since(all.back().number - 2).size(), 2U);
  EXPECT_TRUE(journal.since(all.back().number).empty());
}

TEST(EventJournal, DeliversEachEventOnceInOrderAlsoThoseBeforeTheHook) {
  constexpr std::uint64_t each = 200;
  std::vector<std::uint64_t> seen;
  event_journal journal(0);
  journal.record({.what = kind::started});
  const auto courier = std::make_shared<event_courier>([&](const log_entry& e) {
    EXPECT_EQ(e.source, "device 0");
    EXPECT_EQ(e.reason.code, errc{});
    seen.push_back(e.of_device->number);
    throw std::runtime_error("no disk");
  });
  journal.deliver_to(courier);
  {
    const auto record = [&] {
      for (std::uint64_t i = 0; i < each; ++i)
        journal.record({.what = kind::restarted});
    };
    const std::jthread one(record);
    const std::jthread other(record);
  }
  courier->finish(10s);
  ASSERT_EQ(seen.size(), 2 * each + 1);
  EXPECT_TRUE(std::ranges::is_sorted(seen, std::less_equal{}));
  journal.record({.what = kind::stopped});  // after the end
  EXPECT_EQ(journal.since(0).size(), 2 * each + 2);
}

TEST(EventJournal, NobodyWaitsForAHookThatHangsAndItsEndIsBounded) {
  auto let_go = std::make_shared<std::promise<void>>();
  auto calls = std::make_shared<std::atomic<int>>(0);
  const std::shared_future<void> told = let_go->get_future().share();
  auto courier = std::make_shared<event_courier>([told, calls](const log_entry&) {
    calls->fetch_add(1);
    told.wait();
  });
  event_journal journal(0);
  journal.deliver_to(courier);
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < 2 * event_courier::most_waiting; ++i)
    journal.record({.what = kind::lost});
  while (calls->load() == 0)
    std::this_thread::yield();
  courier->finish(20ms);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  let_go->set_value();
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(calls->load(), 1) << "it is not called again";
}

}  // namespace
}  // namespace troupe
