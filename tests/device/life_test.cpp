// The life of a device: start, stop, generations.

#include "device/fixtures/either_isolation.hpp"

#include <troupe/lane/launch.hpp>
#include <troupe/lane/marker.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

TEST(Life, RequestsSentBeforeTheFirstWorkerIsReadyAreAnswered) {
  troupe::system system;
  device gpu = system.device(0, permissive());
  std::vector<future<void>> answers;
  answers.reserve(100);
  for (int i = 0; i < 100; ++i)
    answers.push_back(gpu.ask(lane::marker{}));
  for (auto& one : answers)
    EXPECT_TRUE(one.get_result());
  EXPECT_EQ(gpu.generation(), 1u);
}

TEST(Life, ALaunchIsAnsweredWhicheverLibrariesAreEnabled) {
  troupe::system system;
  device_config config = permissive();
  device gpu = system.device(0, config);
  EXPECT_TRUE(gpu.ask(lane::launch{}).get_result());
  gpu.stop();
  config.libraries = {"memory"};
  EXPECT_TRUE(system.device(0, config).ask(lane::launch{}).get_result());
}

TEST(Life, StopFailsWhatWaitsAndWhatComes) {
  troupe::system system;
  device gpu = system.device(0, permissive());
  shared_flag flag(gpu);
  std::vector<future<void>> answers;
  answers.reserve(50);
  for (int i = 0; i < 50; ++i)
    answers.push_back(gpu.ask(hold{.flag = flag.tensor()}));
  gpu.stop();
  for (auto& one : answers) {
    auto outcome = one.get_result();
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, errc::device_stopped);
  }
  EXPECT_EQ(gpu.ask(lane::marker{}).get_result().error().code, errc::device_stopped);
  EXPECT_EQ(gpu.tensor<float>({1}).error().code, errc::device_stopped);
  EXPECT_EQ(gpu.health().state, device_state::stopped);
  EXPECT_FALSE(gpu.worker_pid());
  const device_statistics counts = gpu.statistics();
  EXPECT_EQ(counts.in_flight, 0u);
}

TEST(Life, StoppedDeviceCanBeMadeAgain) {
  troupe::system system;
  for (int i = 0; i < 3; ++i) {
    device gpu = system.device(0, permissive());
    EXPECT_TRUE(gpu.wait_until_ready());
    gpu.stop();
  }
}

class LifeOfEither : public either_isolation {};
INSTANTIATE_TEST_SUITE_P(Isolation, LifeOfEither,
                         ::testing::Values(isolation::process, isolation::thread),
                         process_or_thread);

TEST_P(LifeOfEither, AnyNumberOfThreadsMayStopItAtOnce) {
  for (int round = 0; round < 20; ++round) {
    device gpu = instead(config());
    ASSERT_TRUE(gpu.wait_until_ready());
    std::atomic<int> there = 0;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        ++there;
        while (there < 3) {
        }
        gpu.stop();
        EXPECT_EQ(gpu.health().state, device_state::stopped);
      });
    }
    threads.clear();
    gpu_ = gpu;
  }
}

TEST_P(LifeOfEither, AContinuationOfItsOwnMayStopIt) {
  for (int round = 0; round < 20; ++round) {
    device gpu = instead(config());
    shared_flag flag(gpu);
    shared_flag begun(gpu);
    const std::jthread sets_it([&] {
      EXPECT_TRUE(eventually([&] { return begun.is_set(); }));
      flag.set();
    });
    auto held = gpu.ask(hold{.flag = flag.tensor(), .begun = begun.tensor()});
    // Run by whichever thread brings the answer in: the device's, or this one, which waits.
    auto stopped = std::move(held).then([&](const result<void>&) { gpu.stop(); });
    auto later = gpu.ask(lane::marker{});
    (void)later.get_result();
    EXPECT_TRUE(stopped.get_result());
    EXPECT_TRUE(eventually([&] { return gpu.health().state == device_state::stopped; }));
    gpu_ = gpu;
  }
}

// The old one is destroyed by its own thread, which no other thread waits for.
TEST(Life, AContinuationOfItsEndMayMakeTheNextOne) {
  troupe::system system;
  device_config config = permissive();
  config.restarts = {.restarts = 0};
  config.silence_timeout = 300ms;
  for (int round = 0; round < 3; ++round) {
    auto gpu = std::make_unique<device>(system.device(0, config));
    ASSERT_TRUE(gpu->wait_until_ready());
    std::atomic<bool> made = false;
    // From then on the handle is the continuation's.
    const pid_t worker = gpu->worker_pid().value();
    {
      shared_flag flag(*gpu);
      (void)gpu->ask(hold{.flag = flag.tensor()}).then([&](const result<void>& outcome) {
        EXPECT_EQ(outcome.error().code, errc::device_stopped);
        *gpu = system.device(0, config);
        made = true;
      });
    }
    ASSERT_EQ(::kill(worker, SIGSTOP), 0);
    ASSERT_TRUE(eventually([&] { return made.load(); }));
    EXPECT_TRUE(gpu->ask(lane::marker{}).get_result());
    gpu->stop();
  }
}

TEST(Life, WhoeverWantsItFirstMakesItForAll) {
  constexpr int threads = 4;
  for (int round = 0; round < 30; ++round) {
    troupe::system system;
    // So that all have the same to do.
    (void)second_device(system, permissive());
    std::atomic<int> there = 0;
    std::atomic<int> had = 0;
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i) {
      all.emplace_back([&] {
        ++there;
        while (there < threads)
          std::this_thread::yield();
        EXPECT_NO_THROW(had += system.device(0).ordinal() == 0);
      });
    }
    all.clear();
    EXPECT_EQ(had, threads);
  }
}

TEST_P(LifeOfEither, OfManyWhoMakeItOneDoes) {
  gpu_.stop();
  std::atomic<int> there = 0;
  std::atomic<int> made = 0;
  std::vector<std::jthread> all;
  for (int i = 0; i < 3; ++i) {
    all.emplace_back([&] {
      ++there;
      while (there < 3) {
      }
      const errc why = refused(system_, 0, config());
      made += why == errc{};
      EXPECT_TRUE(why == errc{} || why == errc::invalid_argument);
    });
  }
  all.clear();
  EXPECT_EQ(made, 1);
}

TEST_P(LifeOfEither, AnActorKeepsTheNameOfItsLibrary) {
  const std::string name = "a library whose name takes memory of its own";
  for (const lane_policy lanes : {lane_policy::per_actor(), lane_policy::one()}) {
    device_config config = this->config();
    config.lanes = lanes;
    gpu_ = instead(config);
    auto passing = std::make_unique<std::string>(name);
    const library_actor one = gpu_.library(*passing);
    passing->assign(name.size(), 'x');
    EXPECT_EQ(one.library(), name);
    EXPECT_EQ(one.on_new_lane().library(), name);
  }
}

TEST_P(LifeOfEither, DrainingUsesNoProcessorHoweverLongItTakes) {
  shared_flag flag(gpu_);
  auto held = gpu_.ask(hold{.flag = flag.tensor()});
  const auto used = [] {
    timespec spent{};
    EXPECT_EQ(::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent), 0);
    return std::chrono::seconds(spent.tv_sec) + std::chrono::nanoseconds(spent.tv_nsec);
  };
  const auto before = used();
  EXPECT_FALSE(gpu_.drain(800ms));
  EXPECT_LT(used() - before, 100ms);
  flag.set();
  EXPECT_TRUE(held.get_result());
  EXPECT_TRUE(gpu_.drain(10s));
}

TEST(Life, AStoppedDeviceHasNoStandby) {
  troupe::system system;
  device gpu = system.device(0, permissive());
  ASSERT_TRUE(gpu.wait_until_ready());
  ASSERT_TRUE(eventually([&] { return gpu.health().standby_ready; }));
  gpu.stop();
  EXPECT_FALSE(gpu.health().standby_ready);
  EXPECT_FALSE(gpu.health().standby_pid);
}

TEST(Life, ThereIsNoDeviceOfASystemThatHasShutDown) {
  troupe::system system;
  system.shutdown().get();
  EXPECT_EQ(refused(system, 0, permissive()), errc::device_stopped);
  EXPECT_THROW((void)system.device(0), failure);
}

TEST(Life, ShutdownLetsRequestsEnd) {
  future<void> held;
  {
    troupe::system system;
    device gpu = system.device(0, permissive());
    shared_flag flag(gpu);
    held = gpu.ask(hold{.flag = flag.tensor()});
    flag.set();
  }
  EXPECT_TRUE(held.get_result());
}

TEST(Life, WatchersSeeEachGenerationAndTheEnd) {
  troupe::system system;
  device gpu = system.device(0, permissive());
  std::atomic<std::uint64_t> last = 0;
  std::atomic<bool> ended = false;
  gpu.watch_generation([&](std::optional<std::uint64_t> generation) {
    if (generation) {
      last = *generation;
    } else {
      ended = true;
    }
  });
  EXPECT_TRUE(eventually([&] { return last == 1; }));
  kill_worker(gpu);
  EXPECT_TRUE(eventually([&] { return last == 2; }));
  gpu.stop();
  EXPECT_TRUE(ended);
}

// Keeps the reason for which what it watches has ended.
class watcher final : public actor {
 public:
  explicit watcher(any_actor_ref watched) : watched_(std::move(watched)) {}
  void pre_start() override { watch(this, watched_); }
  void handle(terminated t) {
    reason_ = std::move(t.reason);
    ended_ = true;
  }
  struct question {};
  std::optional<errc> handle(question) {
    if (!ended_) return std::nullopt;
    return reason_ ? reason_->code : errc{};
  }

 private:
  any_actor_ref watched_;
  bool ended_ = false;
  std::optional<error> reason_;
};

TEST(Life, DeviceThatGivesUpEndsForItsWatchersWithItsError) {
  troupe::system system;
  device_config config = permissive();
  config.restarts = {.restarts = 0};
  config.silence_timeout = 300ms;
  device gpu = system.device(0, config);
  auto eyes = system.spawn<watcher>(gpu.actor());
  ASSERT_TRUE(gpu.wait_until_ready());
  EXPECT_EQ(eyes.ask(watcher::question{}).get(), std::nullopt);
  freeze_worker(gpu);
  EXPECT_TRUE(eventually([&] { return eyes.ask(watcher::question{}).get().has_value(); }));
  EXPECT_EQ(eyes.ask(watcher::question{}).get(), errc::device_stopped);
}

TEST(Life, DeviceThatIsStoppedEndsForItsWatchersWithoutAnError) {
  troupe::system system;
  device gpu = system.device(0, permissive());
  auto eyes = system.spawn<watcher>(gpu.actor());
  ASSERT_TRUE(gpu.wait_until_ready());
  gpu.stop();
  EXPECT_TRUE(eventually([&] { return eyes.ask(watcher::question{}).get().has_value(); }));
  EXPECT_EQ(eyes.ask(watcher::question{}).get(), errc{});
}

TEST(Life, StandbyThatDiesIsReplacedAndDisturbsNothing) {
  troupe::system system;
  device gpu = system.device(0, permissive());
  ASSERT_TRUE(gpu.wait_until_ready());
  ASSERT_TRUE(eventually([&] { return gpu.health().standby_ready; }));
  const pid_t standby = gpu.health().standby_pid.value();
  ::kill(standby, SIGKILL);
  EXPECT_TRUE(eventually([&] {
    const device_health now = gpu.health();
    return now.standby_ready && now.standby_pid != standby;
  }));
  EXPECT_EQ(gpu.generation(), 1u);
  EXPECT_TRUE(gpu.ask(lane::marker{}).get_result());
}

TEST(Life, StandbyThatDiesAgainAndAgainTakesNoRequestWithIt) {
  troupe::system system;
  device gpu = system.device(0, permissive());
  ASSERT_TRUE(gpu.wait_until_ready());
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(eventually([&] { return gpu.health().standby_ready; }));
    const pid_t standby = gpu.health().standby_pid.value();
    for (int request = 0; request < 8; ++request) {
      // Longer than anybody spins: the request has to wake the worker, and not the standby.
      std::this_thread::sleep_for(5ms);
      auto answer = gpu.ask(lane::marker{});
      ASSERT_TRUE(answer.wait_for(10s)) << "after " << i << " deaths";
    }
    ::kill(standby, SIGKILL);
    ASSERT_TRUE(eventually([&] { return gpu.health().standby_pid != standby; }));
  }
  EXPECT_EQ(gpu.generation(), 1u);
}

TEST(Life, AFreezeThatWaitsForAWorkerEndsWithTheDevice) {
  troupe::system system;
  device gpu = system.device(0, permissive());
  ASSERT_TRUE(eventually([&] { return gpu.health().standby_ready; }));
  auto t = gpu.tensor<float>({freezable}).value();
  ASSERT_EQ(::kill(gpu.health().standby_pid.value(), SIGSTOP), 0);
  auto frozen = gpu.freeze(t);
  std::this_thread::sleep_for(50ms);
  gpu.stop();
  ASSERT_TRUE(frozen.wait_for(10s));
  const auto outcome = frozen.get_result();
  // It may have been dealt with before.
  if (!outcome) {
    EXPECT_EQ(outcome.error().code, errc::device_stopped);
  }
}

TEST(Life, HealthAndStatisticsFollowALoss) {
  troupe::system system;
  device_config config = permissive();
  config.standby = false;
  device gpu = system.device(0, config);
  ASSERT_TRUE(gpu.wait_until_ready());
  EXPECT_EQ(gpu.health().state, device_state::ready);
  EXPECT_EQ(gpu.health().last_failover, 0ns);
  {
    auto passing = gpu.tensor<float>({1 << 20}).value();
    EXPECT_GE(gpu.statistics().memory_used_bytes, std::uint64_t{4} << 20);
  }
  EXPECT_LT(gpu.statistics().memory_used_bytes, std::uint64_t{4} << 20);
  EXPECT_GE(gpu.statistics().memory_peak_bytes, std::uint64_t{4} << 20);
  EXPECT_LE(gpu.statistics().memory_peak_bytes, gpu.statistics().memory_limit_bytes);

  shared_flag flag(gpu);
  shared_flag begun(gpu);
  auto held = gpu.ask(hold{.flag = flag.tensor(), .begun = begun.tensor()});
  ASSERT_TRUE(eventually([&] { return begun.is_set(); }));
  auto waiting = gpu.library("test").ask(lane::marker{});
  {
    const few_descriptors none_left;  // for the next worker
    kill_worker(gpu);
    EXPECT_TRUE(eventually([&] { return gpu.health().state == device_state::recovering; }));
    EXPECT_FALSE(held.wait_for(20ms));
    EXPECT_EQ(gpu.health().state, device_state::recovering);
    EXPECT_FALSE(gpu.worker_pid());
    EXPECT_EQ(gpu.generation(), 1u);
  }
  flag.set();
  EXPECT_TRUE(held.get_result());
  EXPECT_TRUE(waiting.get_result());
  EXPECT_EQ(gpu.health().state, device_state::ready);
  EXPECT_GE(gpu.health().last_failover, 20ms);
  EXPECT_EQ(gpu.health().restarts, 1u);
  EXPECT_EQ(gpu.statistics().replayed, 1u) << "one had begun";
}

TEST(Life, AStandbyTakesOverWhenNoDescriptorsAreLeft) {
  troupe::system system;
  device_config config = permissive();
  config.backoff = {.initial = 5ms};
  device gpu = system.device(0, config);
  ASSERT_TRUE(gpu.wait_until_ready());
  ASSERT_TRUE(eventually([&] { return gpu.health().standby_ready; }));
  {
    const few_descriptors none_left;
    kill_worker(gpu);
    EXPECT_TRUE(gpu.ask(lane::marker{}).get_result());
    EXPECT_EQ(gpu.generation(), 2u);
    EXPECT_FALSE(gpu.health().standby_ready);
  }
  EXPECT_TRUE(eventually([&] { return gpu.health().standby_ready; }));
}

}  // namespace
}  // namespace troupe::test
