// A worker that is replaced while requests are sent: `device::renew`.

#include "device/fixtures/device_under_fault.hpp"

#include <troupe/device/mapped_tensor.hpp>
#include <troupe/lane/marker.hpp>

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

class Renewal : public device_under_fault {
 protected:
  // Requests of several threads until the end of its life; each adds one to a tensor, or sets it.
  class load {
   public:
    load(device& gpu, bool add) : gpu_(gpu), flag_(gpu), add_(add) {
      flag_.set();
      for (int i = 0; i < 3; ++i) {
        sums_.push_back(gpu.tensor<float>({64}, initial::zero).value());
        threads_.emplace_back([this, to = sums_.back()] { run(to); });
      }
    }
    // Returns the number of requests, all of which must have been answered well.
    std::int64_t end() {
      stop_ = true;
      threads_.clear();
      EXPECT_EQ(failed_, 0);
      float sum = 0;
      for (const any_tensor& one : sums_) {
        std::vector<float> now(64);
        gpu_.copy(one, std::span(now)).get();
        EXPECT_TRUE(std::ranges::all_of(now, [&](float x) { return x == now[0]; }));
        sum += now[0];
      }
      if (add_) {
        EXPECT_EQ(sum, static_cast<float>(sent_)) << "one ran twice, or never";
      }
      return sent_;
    }

   private:
    void run(const any_tensor& to) {
      const library_actor lane = gpu_.library("test").on_new_lane();
      std::deque<future<void>> window;
      while (!stop_ || !window.empty()) {
        if (!stop_) {
          window.push_back(
              lane.ask(hold{.flag = flag_.tensor(), .output = to, .value = 1, .add = add_}));
          ++sent_;
        }
        if (window.size() < 8 && !stop_) continue;
        if (auto outcome = ended(std::move(window.front())); !outcome) {
          ++failed_;
          ADD_FAILURE() << outcome.error().to_string();
        }
        window.pop_front();
      }
    }

    device gpu_;
    shared_flag flag_;
    bool add_;
    std::vector<any_tensor> sums_;
    std::atomic<std::int64_t> sent_{0};
    std::atomic<int> failed_{0};
    std::atomic<bool> stop_{false};
    std::vector<std::jthread> threads_;
  };
};

INSTANTIATE_TEST_SUITE_P(Standby, Renewal, ::testing::Bool(), with_or_without);

TEST_P(Renewal, FailsNoRequestAndRunsNoneTwice) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  load requests(gpu, true);
  constexpr int times = 6;
  for (int i = 0; i < times; ++i) {
    const auto pid = gpu.worker_pid();
    const auto until = std::chrono::steady_clock::now() + 50ms;
    const auto outcome = ended(gpu.renew({.fresh = i % 3 == 2}));
    ASSERT_TRUE(outcome) << outcome.error().to_string();
    EXPECT_NE(gpu.worker_pid(), pid);
    std::this_thread::sleep_until(until);
  }
  EXPECT_GT(requests.end(), 0);
  EXPECT_EQ(gpu.statistics().failed, 0U);
  EXPECT_EQ(gpu.statistics().replayed, 0U);
  EXPECT_EQ(gpu.health().restarts, 0U);
  int renewed = 0;
  for (const device_event& e : gpu.events()) {
    if (e.what != device_event::kind::renewed) continue;
    ++renewed;
    EXPECT_GT(e.took, 0ns);
    EXPECT_TRUE(e.pid);
  }
  EXPECT_EQ(renewed, times);
}

TEST_P(Renewal, GoesWithKillsAtAnyMoment) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  load requests(gpu, false);
  std::minstd_rand random(1);
  for (int i = 0; i < 6; ++i) {
    future<void> renewed = gpu.renew();
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
    if (const auto pid = gpu.worker_pid()) ::kill(*pid, SIGKILL);
    EXPECT_TRUE(ended(std::move(renewed)));
  }
  EXPECT_GT(requests.end(), 0);
  EXPECT_EQ(gpu.statistics().failed, 0U);
}

TEST_P(Renewal, KeepsAMappedTensorWhereItIs) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  shared_flag flag(gpu);
  flag.set();
  const auto t = gpu.host_tensor<float>({64}).value();
  auto mapped = gpu.mapped(t, access::write).get();
  auto behind = gpu.ask(hold{.flag = flag.tensor(), .output = t, .value = 1, .add = true});
  EXPECT_TRUE(ended(gpu.renew()));
  EXPECT_FALSE(behind.ready());
  std::fill_n(reinterpret_cast<float*>(mapped.address()), 64, 1.0F);
  mapped.unmap();
  EXPECT_TRUE(ended(std::move(behind)));
  EXPECT_EQ(t[63], 2.0F);
}

TEST_P(Renewal, ALongRequestKeepsItsWorker) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  shared_flag flag(gpu);
  shared_flag begun(gpu);
  auto held = gpu.ask(hold{.flag = flag.tensor(), .begun = begun.tensor()});
  ASSERT_TRUE(eventually([&] { return begun.is_set(); }));
  const auto pid = gpu.worker_pid();
  EXPECT_EQ(ended(gpu.renew({.drain = 20ms})).error().code, errc::deadline_exceeded);
  EXPECT_TRUE(ended(gpu.library("lane").on_new_lane().ask(lane::marker{}))) << "others go on";
  EXPECT_EQ(gpu.worker_pid(), pid);
  flag.set();
  EXPECT_TRUE(ended(std::move(held)));
  EXPECT_TRUE(ended(gpu.renew()));
  EXPECT_NE(gpu.worker_pid(), pid);
}

TEST(RenewalRefused, InAThreadAndOnAStoppedDevice) {
  troupe::system system;
  device_config config = permissive();
  config.isolation = isolation::thread;
  device gpu = system.device(0, config);
  EXPECT_EQ(ended(gpu.renew()).error().code, errc::unsupported);
  gpu.stop();
  config.isolation = isolation::process;
  gpu = system.device(0, config);
  gpu.stop();
  EXPECT_EQ(ended(gpu.renew()).error().code, errc::device_stopped);
}

}  // namespace
}  // namespace troupe::test
