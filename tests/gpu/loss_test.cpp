// What a lost worker leaves behind, on a device of queues.

#include <troupe/core/system.hpp>
#include <troupe/device/device.hpp>
#include <troupe/ops/fault/inject.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;

/// What the program and its workers share, a descriptor for each worker there is.
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

}  // namespace
}  // namespace troupe
