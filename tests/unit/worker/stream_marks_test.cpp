#include "stream_stage.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

using namespace testing_worker;

/// Requests sent before the worker starts are all in its hands at once.
class WorkerStreamMarks : public WorkerStreamLanes {
 protected:
  int marks_for(std::uint8_t lane, std::uint64_t requests) {
    start();
    stage_.await(lane, requests);
    return device_.marks.load();
  }
  [[nodiscard]] std::uint64_t last_begun(std::size_t lane) const {
    return wire::last_begun(stage_.segment->lanes[lane]);
  }
};

TEST_F(WorkerStreamMarks, AreSharedByRequestsThatNobodyWaitsFor) {
  for (int i = 0; i < 56; ++i)
    stage_.tell({.reads = stage_.kib(0, 1), .writes = stage_.kib(2, 1), .number = 1}, 0);
  EXPECT_EQ(marks_for(0, 56), 2) << "48, and the rest";
  EXPECT_EQ(enqueued[0], 56);
}

TEST_F(WorkerStreamMarks, ComeWithEachRequestThatSomebodyWaitsFor) {
  for (int i = 0; i < 3; ++i)
    stage_.send({.writes = stage_.kib(0, 1), .number = 1}, 0);
  EXPECT_EQ(marks_for(0, 3), 3);
}

TEST_F(WorkerStreamMarks, AreStoredAsideForWhatMoreFollows) {
  constexpr auto aside = wire::end_mark::aside;
  stage_.send_marked({.reads = stage_.kib(0, 1), .number = 1}, 0, aside);
  stage_.send_marked({.reads = stage_.kib(1, 1), .number = 2}, 0, aside);
  stage_.send_marked({.number = is_refused}, 0, aside);
  stage_.send_marked({.updates = stage_.kib(2, 1), .number = 3}, 0, aside);
  EXPECT_EQ(marks_for(0, 4), 2) << "where one was refused, and of what must not begin twice";
  EXPECT_EQ(device_.marks_aside, 2);
}

TEST_F(WorkerStreamMarks, ThatAreStoredAsideLeaveOpenWhetherTheNextHasBegun) {
  stage_.send_marked({.number = 1, .hold = true}, 0, wire::end_mark::aside);
  stage_.send({.number = 2}, 0);
  stage_.send({.number = 3}, 0);
  start();
  until(stage_.steps.begun[1]);
  await_enqueued(0, 3);
  EXPECT_EQ(last_begun(0), 2u);
  let_end(1);
  stage_.await(0, 3);
}

TEST_F(WorkerStreamMarks, OfAnAwaitedRequestStandsForThoseBefore) {
  for (int i = 0; i < 3; ++i)
    stage_.tell({.writes = stage_.kib(0, 1), .number = 1}, 0);
  stage_.send({.writes = stage_.kib(0, 1), .number = 2}, 0);
  EXPECT_EQ(marks_for(0, 4), 1);
}

TEST_F(WorkerStreamMarks, TellARequestThatUpdatesInPlaceFromItsNeighbours) {
  stage_.tell({.writes = stage_.kib(0, 1), .number = 1}, 0);
  stage_.tell({.number = 2, .hold = true}, 0);
  stage_.tell({.updates = stage_.kib(4, 1), .number = 3}, 0);
  stage_.tell({.number = 4}, 0);
  start();
  until(stage_.steps.begun[2]);
  EXPECT_EQ(last_begun(0), 2u) << "whether the third has begun must not be in doubt";
  let_end(2);
  stage_.await(0, 4);
  EXPECT_EQ(device_.marks, 3);
}

// A finding of its kernels must not be taken for another one's.
TEST_F(WorkerStreamMarks, AreNotSharedByARequestThatMayFailLate) {
  operation late = *stage_.operations.find(request_type_of<step>().id);
  late.fails_late = true;
  stage_.operations.insert(late);
  for (int i = 0; i < 3; ++i)
    stage_.tell({.reads = stage_.kib(0, 1), .writes = stage_.kib(2, 1), .number = 1}, 0);
  EXPECT_EQ(marks_for(0, 3), 3);
}

TEST_F(WorkerStreamMarks, ComeBeforeARequestThatOverwritesWhatOneOfThemHasRead) {
  stage_.tell({.reads = stage_.kib(0, 2), .writes = stage_.kib(4, 1), .number = 1}, 0);
  stage_.tell({.writes = stage_.kib(1, 1), .number = 2}, 0);
  stage_.tell({.writes = stage_.kib(1, 1), .number = 3}, 0);
  EXPECT_EQ(marks_for(0, 3), 2) << "a second write of the same is no matter";
}

TEST_F(WorkerStreamMarks, ComeBeforeAnotherLaneReliesOnThem) {
  stage_.tell({.writes = stage_.kib(0, 1), .number = 1, .hold = true}, 0);
  stage_.tell({.reads = stage_.kib(0, 1), .number = 2}, 1);
  stage_.tell({.writes = stage_.kib(8, 1), .number = 3}, 0);
  start();
  until(stage_.steps.begun[1]);
  await_enqueued(0, 2);
  EXPECT_EQ(last_begun(0), 1u);
  let_end(1);
  stage_.await(0, 2);
  stage_.await(1, 1);
  EXPECT_EQ(device_.marks, 3);
  EXPECT_TRUE(before("end 1", "begin 2"));
}

TEST_F(WorkerStreamMarks, ThatAreSharedLeaveOpenWhichRequestHasBegun) {
  stage_.tell({.number = 1, .hold = true}, 0);
  for (int i = 2; i < 5; ++i)
    stage_.tell({.number = i}, 0);
  stage_.send({.updates = stage_.kib(0, 1), .number = 5}, 0);
  start();
  until(stage_.steps.begun[1]);
  await_enqueued(0, 5);
  EXPECT_EQ(last_begun(0), 4u);
  let_end(1);
  stage_.await(0, 5);
  EXPECT_EQ(last_begun(0), 5u);
}

/// An accelerator that stands still at its first request, and then at its 60th, when it has as many
/// in its queue as that takes and more are waiting.
class WorkerStreamMarksBehind : public WorkerStreamMarks {
 protected:
  void start_and_fall_behind(int requests) {
    for (int place = 1; place <= requests; ++place) {
      const std::int64_t held = place == 1 ? 1 : place == 60 ? 4 : 0;
      stage_.tell({.reads = stage_.kib(0, 1), .number = held != 0 ? held : 2, .hold = held != 0},
                  0);
    }
    start();
    await_enqueued(0, 64);
    let_end(1);
  }
};

TEST_F(WorkerStreamMarksBehind, AreStoredAside) {
  start_and_fall_behind(120);
  await_enqueued(0, 112);
  while (device_.marks_aside == 0)
    std::this_thread::yield();
  EXPECT_EQ(last_begun(0), 112u) << "beyond that mark, too, for which nobody waits";
  let_end(4);
  stage_.await(0, 120);
}

TEST_F(WorkerStreamMarksBehind, AreWaitedForByWhatOverwritesWhatWasRead) {
  start_and_fall_behind(96);
  stage_.tell({.writes = stage_.kib(0, 1), .number = 3}, 0);
  await_enqueued(0, 97);
  EXPECT_EQ(last_begun(0), 96u);
  let_end(4);
  stage_.await(0, 97);
  EXPECT_TRUE(before("end 4", "begin 3"));
}

TEST_F(WorkerStreamMarks, ComeWithARefusal) {
  stage_.tell({.number = 1}, 0);
  const std::uint16_t refused = stage_.tell({.number = is_refused}, 0);
  stage_.tell({.number = 2}, 0);
  EXPECT_EQ(marks_for(0, 3), 2);
  EXPECT_EQ(code_of(refused), errc::library_error);
}

TEST_F(WorkerStreamMarks, ComeBeforeAndAfterARequestThatIsSetApart) {
  stage_.tell({.number = 1}, 0);
  stage_.send_marked({.number = 2}, 0, wire::end_mark::apart);
  stage_.tell({.number = 3}, 0);
  EXPECT_EQ(marks_for(0, 3), 3);
}

TEST(LastBegun, StaysWithinAQueueWhateverTheMarksSay) {
  wire::lane_mark mark;
  EXPECT_EQ(wire::last_begun(mark), 0u);
  mark.started = 5;
  EXPECT_EQ(wire::last_begun(mark), 1u) << "each by itself";
  mark.unmarked = ~std::uint64_t{0};
  EXPECT_EQ(wire::last_begun(mark), 5u);
  mark.started = ~std::uint64_t{0};
  EXPECT_EQ(wire::last_begun(mark), wire::queue_depth);
}

}  // namespace
}  // namespace troupe
