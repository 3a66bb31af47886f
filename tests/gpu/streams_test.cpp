// The results of streams of requests without waiters when their worker was killed meanwhile.

#include "gpu/faults/lost_workers.hpp"

#include <troupe/device/device.hpp>
#include <troupe/memory/copy.hpp>
#include <troupe/memory/fill.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <random>
#include <span>
#include <thread>
#include <vector>

namespace troupe {
namespace {

/// Fills a tensor and copies it many times, and again: the copies share marks, and the next fill
/// overwrites their input. Even if the worker is lost, a copy is of the fill before it.
class streamer {
 public:
  streamer(device& gpu, unsigned seed)
      : gpu_(gpu), lane_(gpu.library("memory").on_new_lane()), random_(seed) {
    source_ = gpu.tensor<double>({elements}, initial::zero).value();
    for (std::size_t i = 0; i < copies; ++i)
      copies_.push_back(gpu.tensor<double>({elements}, initial::zero).value());
    expected_.resize(copies, 0);
  }

  void send() {
    for (int times = 0; times < 4; ++times) {
      const double value = ++last_;
      // One that is refused has changed nothing, and all that reads what is undefined is.
      if (!lane_.tell(memory::fill{.to = source_, .value = value})) continue;
      const std::size_t count = 50 + random_() % 100;
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t to = random_() % copies;
        if (lane_.tell(memory::copy{.from = source_, .to = copies_[to]})) expected_[to] = value;
      }
    }
  }

  /// How many are as they should be; others were lost with what is undefined since.
  int check() {
    int right = 0;
    for (std::size_t i = 0; i < copies; ++i) {
      std::vector<double> there(elements);
      const auto outcome = gpu_.copy(copies_[i], std::span(there)).get_result();
      if (outcome) {
        for (const double one : there)
          EXPECT_EQ(one, expected_[i]) << "copy " << i;
        ++right;
        continue;
      }
      EXPECT_TRUE(outcome.error().code == errc::tainted_buffer ||
                  outcome.error().code == errc::aborted)
          << outcome.error().to_string();
      EXPECT_TRUE(gpu_.ask(memory::fill{.to = copies_[i], .value = 0}).get_result());
      expected_[i] = 0;
    }
    return right;
  }

 private:
  static constexpr std::size_t elements = 256;
  static constexpr std::size_t copies = 64;

  device& gpu_;
  library_actor lane_;
  std::minstd_rand random_;
  tensor<double> source_;
  std::vector<tensor<double>> copies_;
  std::vector<double> expected_;
  double last_ = 0;
};

class Streams : public gpu_test::LostWorkers {};

INSTANTIATE_TEST_SUITE_P(Backends, Streams, testing::Values("", QUEUES_PLUGIN),
                         gpu_test::name_of_backend);

TEST_P(Streams, AreInOrderHoweverOftenTheirWorkerIsKilled) {
  device gpu = make_device();
  ASSERT_TRUE(gpu.wait_until_ready());
  std::vector<streamer> all;
  all.reserve(2);
  for (unsigned seed = 1; seed <= 2; ++seed)
    all.emplace_back(gpu, seed);
  std::minstd_rand random(3);
  int right = 0;
  constexpr int rounds = 30;
  for (int round = 0; round < rounds; ++round) {
    {
      const std::jthread killer([&, after = std::chrono::microseconds(random() % 4000)] {
        std::this_thread::sleep_for(after);
        if (const auto pid = gpu.worker_pid()) ::kill(*pid, SIGKILL);
      });
      for (streamer& one : all)
        one.send();
    }
    ASSERT_TRUE(gpu.wait_until_ready());
    for (streamer& one : all)
      right += one.check();
    if (HasFailure()) return;
  }
  EXPECT_GT(right, rounds * 64) << "half of the copies";
}

}  // namespace
}  // namespace troupe
