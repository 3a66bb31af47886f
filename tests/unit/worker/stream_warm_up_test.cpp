#include "stream_stage.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

using namespace testing_worker;

/// The warm-up of a standby's libraries before it is needed. The one of the test's choice waits
/// until it may end.
struct library {
  static inline std::array<std::atomic<int>, wire::max_lanes> warm;  // times, by lane
  static inline std::atomic<int> begun;
  static inline std::atomic<bool> may_end;
  static inline std::atomic<errc> failure;

  static void warm_up(lane_context& where, result<void>& outcome) {
    begun.fetch_add(1);
    while (!may_end.load())
      std::this_thread::yield();
    warm[static_cast<std::size_t>(where.lane())].fetch_add(1);
    if (failure.load() != errc{}) outcome = error{.code = failure.load(), .message = "cold"};
  }
};

class WorkerStandby : public WorkerStreamLanes {
 protected:
  WorkerStandby() {
    for (auto& count : library::warm)
      count.store(0);
    library::begun.store(0);
    library::may_end.store(true);
    library::failure.store(errc{});
    stage_.cold = {&library::warm_up, &library::warm_up};
    stage_.activates = false;
  }
  void await_warm() {
    while (stage_.warm.load() == 0)
      std::this_thread::yield();
  }
  void expect_service() {
    stage_.tell({.number = 1}, 0);
    stage_.send({.number = 2}, 9);
    stage_.await(0, 1);
    stage_.await(9, 1);
    EXPECT_EQ(losses_, 0);
  }
};

TEST_F(WorkerStandby, WarmsUpEveryLibraryOnEachOfTheFirstLanesAndSaysSo) {
  start();
  await_warm();
  for (std::size_t lane = 0; lane < wire::max_lanes; ++lane)
    EXPECT_EQ(library::warm[lane].load(), lane < stage_.warm_lanes ? 2 : 0) << lane;
  stage_.requests->activate(1, {}, 0);
  expect_service();
  EXPECT_EQ(stage_.warm.load(), 1);
  EXPECT_EQ(device_.lanes.load(), static_cast<int>(stage_.warm_lanes) + 1);
}

TEST_F(WorkerStandby, WarmsUpTheTwinsOfLanesThatRunGraphs) {
  stage_.requests->expect_graphs(1);
  start();
  await_warm();
  while (library::warm[1].load() < 4)
    std::this_thread::yield();
  stage_.requests->expect_graphs(7);  // while it sleeps
  while (library::warm[7].load() < 2)
    std::this_thread::yield();
  EXPECT_EQ(device_.twins.load(), 2);
  stage_.requests->activate(1, {}, 0);
  expect_service();
}

TEST_F(WorkerStandby, ThatIsNeededServesAfterTheStepItIsAt) {
  library::may_end.store(false);
  start();
  while (library::begun.load() == 0)
    std::this_thread::yield();
  stage_.requests->activate(1, {}, 0);
  library::may_end.store(true);
  expect_service();
  EXPECT_EQ(library::begun.load(), 1);
  EXPECT_EQ(stage_.warm.load(), 0);
}

TEST_F(WorkerStandby, ThatIsNeededAtOnceWarmsUpNothing) {
  stage_.activates = true;
  start();
  expect_service();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(library::begun.load(), 0);
}

TEST_F(WorkerStandby, WhoseLibraryFailsServesAllTheSame) {
  library::failure.store(errc::out_of_memory);
  start();
  await_warm();
  stage_.requests->activate(1, {}, 0);
  expect_service();
}

TEST_F(WorkerStandby, WithoutMemoryForLanesIsStillThere) {
  device_.fails_to_make_lanes.store(true);
  start();
  await_warm();
  device_.fails_to_make_lanes.store(false);
  stage_.requests->activate(1, {}, 0);
  expect_service();
}

TEST_F(WorkerStandby, ThatLosesItsContextIsLost) {
  library::failure.store(errc::device_fault);
  start();
  await_loss();
  EXPECT_EQ(lost_code_, errc::device_fault);
  EXPECT_EQ(stage_.warm.load(), 0);
}

TEST_F(WorkerStandby, EndsBetweenTwoSteps) {
  library::may_end.store(false);
  start();
  while (library::begun.load() == 0)
    std::this_thread::yield();
  std::jthread lets_go([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    library::may_end.store(true);
  });
  stage_.lanes->stop();
  EXPECT_LE(library::begun.load(), 1);
}

}  // namespace
}  // namespace troupe
