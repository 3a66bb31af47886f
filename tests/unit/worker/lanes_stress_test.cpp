#include "base/spin_wait.hpp"
#include "stream_stage.hpp"
#include "under_sanitizers.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <random>

namespace troupe {
namespace {

using namespace testing_worker;

constexpr std::uint64_t scale = test::under_sanitizers ? 1 : 5;

/// Counts in a cell that it updates, and takes as long as it is told.
struct raise {
  using reply = std::int64_t;
  static constexpr std::string_view name = "test.raise";

  any_tensor cell{};
  any_tensor reads{};
  std::int64_t pauses = 0;

  static void describe(description<raise>& d) {
    d.about("Counts in a cell that it updates.");
    d.updates("cell", &raise::cell, {}, "number in memory");
    d.reads("reads", &raise::reads, {}, "tensor that is read");
    d.value("pauses", &raise::pauses, "pauses of the processor");
  }
};

result<std::int64_t> run_raise(const raise& r, lane_context&) {
  for (std::int64_t i = 0; i < r.pauses; ++i)
    detail::pause_cpu();
  // Plain: the order of the requests must order this.
  auto* const count = reinterpret_cast<std::int64_t*>(r.cell.address());
  return ++*count;
}

class WorkerLanesStress : public testing::Test {
 protected:
  WorkerLanesStress() { stage_.operations.add(&run_raise, effort::by_size); }

  // Above 64 KiB another thread runs it than the one that reads.
  raise drawn(bool large, std::int64_t pauses) {
    return {.cell = stage_.kib(0, 1), .reads = stage_.kib(1, large ? 80 : 1), .pauses = pauses};
  }
  void announce_lazily() {
    epoch_ += wire::wait_epoch;
    stage_.requests->waits().store(epoch_ | wire::wait_lazy, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  /// True once the worker has told; false when it has not for a second.
  bool is_told() {
    pollfd bell{.fd = stage_.wakes(), .events = POLLIN, .revents = 0};
    if (::poll(&bell, 1, 1'000) != 1) return false;
    std::uint64_t count = 0;
    return ::read(stage_.wakes(), &count, sizeof(count)) == sizeof(count);
  }

  stage stage_;
  std::uint32_t epoch_ = 0;
};

// One at a time of each lane, and sent at any time, also as the other's is just ending: then there
// is nothing to wait for, and yet all that it has done must be visible.
TEST_F(WorkerLanesStress, UpdatesOfOneCellFromSeveralLanesAreAllThere) {
  constexpr std::uint8_t lanes = 2;
  constexpr std::uint64_t each = 6'000 * scale;
  auto* const count = reinterpret_cast<std::int64_t*>(stage_.memory().data());
  stage_.start(3);
  {
    std::vector<std::jthread> senders;
    senders.reserve(lanes);
    for (std::uint8_t lane = 0; lane < lanes; ++lane) {
      senders.emplace_back([this, lane] {
        std::minstd_rand random(lane + 1u);
        for (std::uint64_t i = 1; i <= each; ++i) {
          for (auto pauses = random() % 16; pauses > 0; --pauses)
            detail::pause_cpu();
          const std::uint16_t slot =
              stage_.prepare_request(drawn(random() % 4 != 0, static_cast<int>(random() % 8)));
          stage_.requests->publish(slot, lane);
          stage_.await(lane, i);
          stage_.requests->give_back_slot(slot);
        }
      });
    }
  }
  stage_.lanes.reset();
  EXPECT_EQ(*count, std::int64_t{lanes} * static_cast<std::int64_t>(each));
}

// The last one may end while the thread that reads is about to sleep.
TEST_F(WorkerLanesStress, WhoeverWaitsForTheLastOfAllIsToldOfIt) {
  (void)stage_.memory();
  stage_.start(2);
  std::minstd_rand random(1);
  for (std::uint64_t i = 1; i <= 2'000 * scale; ++i) {
    // About as long as a reader without work looks for some.
    const std::uint16_t slot =
        stage_.prepare_request(drawn(true, static_cast<std::int64_t>(random() % 2'000)));
    stage_.requests->publish(slot, 0);
    announce_lazily();
    if (stage_.segment->lanes[0].completed.load(std::memory_order_acquire) < i) {
      ASSERT_TRUE(is_told()) << i;
    }
    stage_.await(0, i);
    stage_.requests->give_back_slot(slot);
  }
}

std::atomic<bool> may_go_on;

result<void> enqueue_raise(void*, const void* request, lane_context& where, std::byte*) {
  const auto& r = *static_cast<const raise*>(request);
  static_cast<fake_lane&>(where).enqueue([pauses = r.pauses] {
    for (std::int64_t i = 0; i < pauses; ++i)
      detail::pause_cpu();
  });
  return {};
}

TEST_F(WorkerStreamLanes, WhoeverWaitsForTheLastOfAllIsToldOfItAlsoWhereOneIsHeldBack) {
  may_go_on.store(false);
  stage_.operations.insert({.type = &request_type_of<raise>(),
                            .run = &enqueue_raise,
                            .ready = [](const void*) { return may_go_on.load(); }});
  start();
  const std::uint16_t held = stage_.prepare_request(raise{.cell = stage_.kib(0, 1)});
  stage_.requests->publish(held, 1);
  for (std::uint32_t i = 1; i <= 200; ++i) {
    const std::uint16_t slot = stage_.send({.number = 1}, 0);
    stage_.requests->waits().store(i * wire::wait_epoch | wire::wait_lazy);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (completed(0) < i) {
      pollfd bell{.fd = stage_.wakes(), .events = POLLIN, .revents = 0};
      ASSERT_EQ(::poll(&bell, 1, 1'000), 1) << i;
      std::uint64_t count = 0;
      ASSERT_EQ(::read(stage_.wakes(), &count, sizeof(count)), 8);
    }
    stage_.await(0, i);
    stage_.requests->give_back_slot(slot);
  }
  may_go_on.store(true);
  stage_.requests->wake_worker();
  stage_.await(1, 1);
}

}  // namespace
}  // namespace troupe
