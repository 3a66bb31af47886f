#pragma once

#include "fake_accelerator.hpp"
#include "stage.hpp"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

/// A stage whose requests run on the queues of a fake accelerator.
namespace troupe::testing_worker {

// Steps with a number of their own do something else than step.
inline constexpr std::int64_t throws = 60;
inline constexpr std::int64_t does_not_converge = 61;
inline constexpr std::int64_t is_refused = 62;
inline constexpr std::int64_t finds_the_context_lost = 59;
inline constexpr std::int64_t faults_when_it_runs = 58;

inline std::array<std::atomic<int>, wire::max_lanes> enqueued;  // steps, by lane

inline result<void> enqueue_step(void*, const void* request, lane_context& where,
                                 std::byte* reply) {
  const step& r = *static_cast<const step*>(request);
  auto& lane = static_cast<fake_lane&>(where);
  enqueued[static_cast<std::size_t>(lane.lane())].fetch_add(1);
  if (r.number == throws) throw std::runtime_error("thrown by step 60");
  if (r.number == does_not_converge) return error{.code = errc::numerical, .message = "step 61"};
  if (r.number == is_refused) return error{.code = errc::library_error, .message = "step 62"};
  if (r.number == finds_the_context_lost) {
    return error{.code = errc::device_fault, .message = "step 59"};
  }
  current->sequence[static_cast<std::size_t>(r.number)].store(lane.sequence());
  lane.enqueue([&lane, steps = current, n = static_cast<std::size_t>(r.number), hold = r.hold,
                to = reinterpret_cast<std::int64_t*>(reply)] {
    if (n == faults_when_it_runs) return lane.device().lose();
    steps->note("begin " + std::to_string(n));
    steps->begun[n].store(true, std::memory_order_release);
    while (hold && !steps->may_end[n].load(std::memory_order_acquire) && !lane.ended())
      std::this_thread::yield();
    if (lane.ended()) return;
    steps->note("end " + std::to_string(n));
    *to = static_cast<std::int64_t>(n) * 10;
  });
  return {};
}

class WorkerStreamLanes : public testing::Test {
 protected:
  WorkerStreamLanes() {
    for (auto& count : enqueued)
      count.store(0);
    stage_.operations.insert({.type = &request_type_of<step>(), .run = &enqueue_step});
  }

  void start(bool released = true) {
    stage_.start_on(
        device_,
        [this](const error& why) {
          lost_code_ = why.code;
          losses_.fetch_add(1, std::memory_order_release);
        },
        released);
  }
  bool before(const std::string& a, const std::string& b) {
    return stage_.steps.has(b) && stage_.steps.place_of(a) < stage_.steps.place_of(b);
  }
  void let_end(std::size_t n) { stage_.steps.may_end[n].store(true, std::memory_order_release); }
  errc code_of(std::uint16_t slot) {
    return static_cast<errc>(stage_.reply(slot).code & ~wire::not_begun);
  }
  std::uint64_t completed(std::size_t lane) { return stage_.segment->lanes[lane].completed.load(); }
  static void await_enqueued(std::size_t lane, int count) {
    while (enqueued[lane].load() < count)
      std::this_thread::yield();
  }
  void await_loss() {
    while (losses_.load(std::memory_order_acquire) == 0)
      std::this_thread::yield();
  }

  std::atomic<int> losses_{0};
  errc lost_code_{};
  fake_accelerator device_;
  stage stage_{256};
};

}  // namespace troupe::testing_worker
