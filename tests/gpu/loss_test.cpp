// The traces of a lost worker, on a device of queues.

#include "gpu/faults/lost_workers.hpp"

#include <troupe/blas/level1.hpp>
#include <troupe/blas/level1_reductions.hpp>
#include <troupe/core/system.hpp>
#include <troupe/device/device.hpp>
#include <troupe/fault/inject.hpp>
#include <troupe/memory/fill.hpp>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;

/// The memory shared by the program and its workers, a descriptor for each existing worker.
int segments() {
  int count = 0;
  for (const auto& one : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(one.path(), gone).string();
    if (target.find("troupe-worker") != std::string::npos) ++count;
  }
  return count;
}

bool becomes(int wanted) {
  for (const auto end = std::chrono::steady_clock::now() + 10s;
       std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(5ms)) {
    if (segments() == wanted) return true;
  }
  return false;
}

TEST(Loss, OfAWorkerLeavesNothingBehindUntilTheNextOne) {
  troupe::system system;
  device gpu = system.device(0, {.restarts = {.restarts = 1'000},
                                 .backoff = {.initial = 0ns},
                                 .fault_injection = true,
                                 .backend_path = QUEUES_PLUGIN});
  ASSERT_TRUE(gpu.wait_until_ready());
  constexpr int worker_and_standby = 2;
  ASSERT_TRUE(becomes(worker_and_standby)) << segments();
  // On a busy machine the end of a process may be heard of before the end of its socket.
  std::vector<std::jthread> busy;
  busy.reserve(4);
  for (int i = 0; i < 4; ++i) {
    busy.emplace_back([](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
      }
    });
  }
  for (int i = 0; i < 10; ++i) {
    for (const fault::kind kind : {fault::kind::exit, fault::kind::segmentation_fault,
                                   fault::kind::trap, fault::kind::kill}) {
      EXPECT_FALSE(gpu.ask(fault::inject{.what = kind}).get_result());
      ASSERT_TRUE(becomes(worker_and_standby)) << to_string(kind) << ": " << segments();
    }
  }
}

// A failure of a worker outside its queues is not caused by the requests in them.
TEST(Loss, OfAWorkerThatCannotMapMemoryIsNobodysFault) {
  troupe::system system;
  device gpu = system.device(0, {.standby = false,
                                 .restarts = {.restarts = 1'000},
                                 .backoff = {.initial = 0ns},
                                 .fault_injection = true,
                                 .backend_path = QUEUES_PLUGIN});
  ASSERT_TRUE(gpu.wait_until_ready());
  auto output = gpu.tensor<float>({1}).value();
  ASSERT_TRUE(gpu.ask(memory::fill{.to = output, .value = 3.0F}).get_result());
  auto innocent = gpu.ask(
      fault::inject{.what = fault::kind::spin, .output = output, .duration_ns = 200'000'000});
  std::this_thread::sleep_for(50ms);
  const rlimit nothing_more{1 << 20, 1 << 20};
  ASSERT_EQ(::prlimit(gpu.worker_pid().value(), RLIMIT_AS, &nothing_more, nullptr), 0);
  const auto large = gpu.tensor<float>({std::int64_t{64} << 20}).value();
  const auto outcome = innocent.get_result();
  EXPECT_TRUE(outcome) << const_cast<result<void>&>(outcome).error().to_string();
  EXPECT_EQ(gpu.generation(), 2u);
  const auto why = gpu.health().last_fault;
  ASSERT_TRUE(why);
  EXPECT_EQ(why->call, "mmap") << why->to_string();
}

/// Sends updates, each with an overwrite after it and a question after that: even if the update is
/// lost, the overwrite was sent before the question.
class overwriter {
 public:
  overwriter(device& gpu, unsigned seed)
      : random_(seed),
        x_(gpu.tensor<double>({1 << 19}, initial::zero).value()),
        ones_(gpu.tensor<double>({1 << 19}, initial::zero).value()),
        compute_(gpu.library("blas").on_new_lane()),
        move_(gpu.library("memory").on_new_lane()) {
    // Their first content must not go down with a worker: nothing overwrites `ones_` later.
    compute_.ask(blas::dot{.x = ones_, .y = x_}).get();
  }

  /// One after the other, with a random pause between the three: mostly the update is lost, and the
  /// others are sent while that is detected. \returns how many were refused as tainted
  int run(const std::stop_token& stop) {
    int refused = 0;
    while (!stop.stop_requested()) {
      auto added = compute_.ask(blas::axpy{.x = ones_, .y = x_, .alpha = 1.0});
      pause();
      auto filled = move_.ask(memory::fill{.to = x_, .value = 3});
      pause();
      auto sum = compute_.ask(blas::dot{.x = ones_, .y = x_}).get_result();
      // One that was running in two lost workers is not run again.
      const bool overwritten = filled.get_result().has_value();
      if (overwritten && !sum && sum.error().code == errc::tainted_buffer) ++refused;
      (void)added.get_result();
    }
    return refused;
  }

 private:
  void pause() {
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::microseconds(random_() % 3000);
    while (std::chrono::steady_clock::now() < until)
      std::this_thread::yield();
  }

  std::minstd_rand random_;
  any_tensor x_;
  any_tensor ones_;
  library_actor compute_;
  library_actor move_;
};

class LossOfWorkers : public gpu_test::LostWorkers {};

INSTANTIATE_TEST_SUITE_P(Backends, LossOfWorkers, testing::Values("", QUEUES_PLUGIN),
                         gpu_test::name_of_backend);

TEST_P(LossOfWorkers, DoesNotHideAnOverwriteThatWasSentBefore) {
  device gpu = make_device();
  ASSERT_TRUE(gpu.wait_until_ready());
  std::atomic<int> refused{0};
  {
    std::vector<overwriter> overwriters;
    for (unsigned seed = 1; seed <= 3; ++seed)
      overwriters.emplace_back(gpu, seed);
    std::vector<std::jthread> threads;
    threads.reserve(overwriters.size());
    for (overwriter& one : overwriters) {
      threads.emplace_back(
          [&one, &refused](const std::stop_token& stop) { refused.fetch_add(one.run(stop)); });
    }
    for (int i = 0; i < 40; ++i) {
      std::this_thread::sleep_for(20ms);
      if (const auto pid = gpu.worker_pid()) ::kill(*pid, SIGKILL);
      ASSERT_TRUE(gpu.wait_until_ready());
    }
  }
  EXPECT_EQ(refused.load(), 0);
}

}  // namespace
}  // namespace troupe
