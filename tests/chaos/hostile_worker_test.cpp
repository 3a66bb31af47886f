// A worker that breaks the protocol is ended, and nothing that it says is believed.

#include "hostile_worker.hpp"

#include <troupe/blas/level1_reductions.hpp>
#include <troupe/device/device.hpp>
#include <troupe/lane/marker.hpp>
#include <troupe/plugin/worker_entry.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

namespace troupe::chaos {
namespace {

using namespace std::chrono_literals;

class Hostile : public ::testing::TestWithParam<bool> {
 protected:
  Hostile() {
    if (GetParam()) ::setenv("TROUPE_TEST_PLUGIN", QUEUES_PLUGIN, 1);
  }
  ~Hostile() override { ::unsetenv("TROUPE_TEST_PLUGIN"); }

  device make() {
    return system_.device(0, {.backend = GetParam() ? backend_kind::cuda : backend_kind::cpu,
                              .memory_limit_bytes = std::uint64_t{64} << 20,
                              .restarts = {.restarts = 1000},
                              .backoff = {.initial = 0ns},
                              .fault_injection = true,
                              .backend_path = GetParam() ? QUEUES_PLUGIN : "",
                              .own_operations = &add_hostile_operations});
  }
  // How a deed ends, alone on its device.
  static errc ended(device& gpu, deed what, std::int64_t number = 0) {
    const any_tensor output = gpu.tensor<float>({4}).value();
    auto outcome = gpu.library("chaos")
                       .ask(misbehave{.what = what, .output = output, .number = number})
                       .get_result();
    return outcome ? errc{} : outcome.error().code;
  }

  troupe::system system_;
};

INSTANTIATE_TEST_SUITE_P(Backend, Hostile, ::testing::Bool(),
                         [](const auto& which) { return which.param ? "Queues" : "Cpu"; });

TEST_P(Hostile, WorkerThatSpeaksOutOfTurnIsEnded) {
  device gpu = make();
  std::uint64_t generation = 1;
  for (const deed what : {deed::says_ready_again, deed::says_hello_again,
                          deed::says_what_it_may_not, deed::says_garbage}) {
    EXPECT_EQ(ended(gpu, what), errc::protocol_violation) << static_cast<int>(what);
    EXPECT_TRUE(gpu.ask(lane::marker{}).get_result());
    EXPECT_EQ(gpu.generation(), ++generation) << static_cast<int>(what);
  }
}

TEST_P(Hostile, WorkerWhoseMarkCannotBeIsNotBelieved) {
  device gpu = make();
  for (std::uint64_t generation = 2; generation < 5; ++generation) {
    // Another request each time: the same would not be run a third time.
    EXPECT_NE(ended(gpu, deed::marks_beyond, static_cast<std::int64_t>(generation)), errc{});
    EXPECT_TRUE(gpu.ask(lane::marker{}).get_result());
    EXPECT_EQ(gpu.generation(), generation) << "one lie, one worker";
  }
}

TEST_P(Hostile, WorkerThatLeavesNoReplyIsEnded) {
  device gpu = make();
  const any_tensor output = gpu.tensor<float>({4}).value();
  const any_tensor x = gpu.tensor<double>({8}, initial::zero).value();
  const library_actor beside = gpu.library("blas").on_new_lane();
  const auto until = std::chrono::steady_clock::now() + 10s;
  while (gpu.generation() < 2 && std::chrono::steady_clock::now() < until) {
    auto lie =
        gpu.library("chaos").ask(misbehave{.what = deed::replies_of_others, .output = output});
    while (!lie.ready() && gpu.generation() < 2)
      (void)beside.ask(blas::asum{.x = x}).get_result();
    (void)lie.get_result();
  }
  EXPECT_GE(gpu.generation(), 2u);
  EXPECT_TRUE(beside.ask(blas::asum{.x = x}).get_result());
}

}  // namespace
}  // namespace troupe::chaos

int main(int argc, char** argv) {
  using namespace troupe::chaos;
  maybe_start_badly(argc, argv);
  if (const auto status = troupe::worker_entry(argc, argv, &add_hostile_operations)) return *status;
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
