// Continuations of a device's answers: the program's code, which may wait for anything, on the
// device thread or on a thread that waits for the device.

#include "device/fixtures/either_isolation.hpp"

#include <troupe/device/mapped_tensor.hpp>
#include <troupe/fault/inject.hpp>
#include <troupe/memory/fill.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <span>
#include <thread>
#include <vector>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

class Continuation : public either_isolation {
 protected:
  /// Runs `work` in a continuation, of a request that has not been answered when it is attached:
  /// on the device thread, and on this one, which waits.
  template <class Work>
  void in_continuations(Work&& work) {
    for (const bool waits : {false, true}) {
      SCOPED_TRACE(waits ? "of a thread that waits" : "of the device thread");
      expect_usable();
      shared_flag flag(gpu_);
      std::atomic<std::thread::id> ran_on{};
      future<bool> done = gpu_.ask(hold{.flag = flag.tensor()}).then([&](const result<void>& r) {
        ran_on = std::this_thread::get_id();
        work();
        return r.has_value();
      });
      // By a third thread: the one that drives is the one that waits.
      std::jthread later([&] {
        std::this_thread::sleep_for(20ms);
        flag.set();
      });
      if (!waits) {
        ASSERT_TRUE(eventually([&] { return done.ready(); }, 20s));
        EXPECT_NE(ran_on.load(), std::this_thread::get_id());
      }
      ASSERT_TRUE(done.wait_for(20s));
      EXPECT_TRUE(done.get());
    }
    expect_usable();
  }
};

INSTANTIATE_TEST_SUITE_P(Isolation, Continuation,
                         ::testing::Values(isolation::process, isolation::thread),
                         process_or_thread);

TEST_P(Continuation, RunsWithoutAnybodyWaiting) {
  std::atomic<int> ran = 0;
  for (int i = 0; i < 100; ++i) {
    (void)gpu_.ask(lane::marker{}).then([&] { ++ran; });
  }
  EXPECT_TRUE(eventually([&] { return ran == 100; }));
}

TEST_P(Continuation, MayAskAndWait) {
  in_continuations([&] { EXPECT_TRUE(gpu_.ask(lane::marker{}).get_result()); });
}

future<void> ask_again(library_actor lane, int left) {
  return lane.ask(lane::marker{}).then([lane, left] {
    return left == 0 ? make_ready_future() : ask_again(lane, left - 1);
  });
}

// Each returns the future of the next; at the end all have their outcome from the last.
TEST_P(Continuation, OnesThatReturnTheNextAnswerEndWithTheLast) {
  auto last = ask_again(gpu_.library("lane"), 40'000);
  ASSERT_TRUE(last.wait_for(60s));
  EXPECT_TRUE(last.get_result());
}

// A request sent by a continuation may complete at once, and has a continuation, too.
TEST_P(Continuation, OnesThatAskAgainRunOneAfterTheOther) {
  struct {
    std::atomic<int> left = 20'000;
    std::atomic<int> running = 256;
    std::atomic<int> deepest = 0;
  } all;
  const library_actor lane = gpu_.library("lane");
  std::function<void()> next = [&] {
    if (all.left.fetch_sub(1) <= 0) {
      --all.running;
      return;
    }
    (void)lane.ask(lane::marker{}).then([&](const result<void>& done) {
      static thread_local int depth = 0;
      ++depth;
      EXPECT_TRUE(done);
      for (int most = all.deepest; most < depth;) {
        if (all.deepest.compare_exchange_weak(most, depth)) break;
      }
      next();
      --depth;
    });
  };
  for (int i = all.running; i > 0; --i)
    next();
  EXPECT_TRUE(eventually([&] { return all.running == 0; }, 60s));
  // Not as deep as there are chains; one that was answered before its continuation came runs in
  // the one that sent it.
  EXPECT_LE(all.deepest, 16);
}

// Those answers would have continuations that send in their turn, without end.
TEST_P(Continuation, ThatSendsRunsNoOthers) {
  const library_actor lane = gpu_.library("lane");
  shared_flag flag(gpu_);
  std::atomic<bool> sends = false;
  std::atomic<int> below = 0;
  std::atomic<int> after = 0;
  auto sent = gpu_.ask(hold{.flag = flag.tensor()}).then([&] {
    sends = true;
    for (int i = 0; i < 200; ++i) {
      (void)lane.ask(lane::marker{}).then([&] { ++(sends ? below : after); });
      if (i % 20 == 0) std::this_thread::sleep_for(1ms);  // the worker is done with them
    }
    sends = false;
  });
  flag.set();
  EXPECT_TRUE(eventually([&] { return after == 200; }, 20s));
  EXPECT_EQ(below, 0);
}

TEST_P(Continuation, MayWaitForWhatEndsItsWorkerAndForTheNextOne) {
  if (GetParam() == isolation::thread) GTEST_SKIP() << "a thread does not survive it";
  in_continuations([&] {
    for (const fault::kind kind : {fault::kind::segmentation_fault, fault::kind::exit}) {
      const auto fault = gpu_.ask(fault::inject{.what = kind}).get_result();
      ASSERT_FALSE(fault);
      EXPECT_EQ(fault.error().code, errc::device_fault);
      EXPECT_TRUE(gpu_.ask(lane::marker{}).get_result());
    }
  });
}

TEST_P(Continuation, OfAFaultMayWaitForTheNextWorker) {
  if (GetParam() == isolation::thread) GTEST_SKIP() << "a thread does not survive it";
  for (int i = 0; i < 2; ++i) {
    auto next =
        gpu_.ask(fault::inject{.what = fault::kind::exit}).then([&](const result<void>& failed) {
          EXPECT_FALSE(failed);
          return gpu_.ask(lane::marker{}).get_result().has_value();
        });
    ASSERT_TRUE(next.wait_for(20s));
    EXPECT_TRUE(next.get());
  }
}

TEST_P(Continuation, MayWaitForADeadline) {
  in_continuations([&] {
    shared_flag flag(gpu_);
    const auto late = gpu_.ask(hold{.flag = flag.tensor()}, {.deadline = 50ms}).get_result();
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, errc::deadline_exceeded);
    flag.set();
    EXPECT_TRUE(gpu_.ask(lane::marker{}).get_result());
  });
}

TEST_P(Continuation, MayWaitForARunLimit) {
  if (GetParam() == isolation::thread) GTEST_SKIP() << "a thread does not survive a hang";
  in_continuations([&] {
    shared_flag never(gpu_);
    const auto hung = gpu_.ask(hold{.flag = never.tensor()}, {.run_limit = 50ms}).get_result();
    ASSERT_FALSE(hung);
    EXPECT_EQ(hung.error().code, errc::device_fault);
  });
}

// The awaited answer comes from a worker that does not exist yet.
TEST_P(Continuation, MayWaitForRoom) {
  if (GetParam() == isolation::thread) GTEST_SKIP() << "a thread does not survive it";
  device_config small = config();
  small.mailbox_capacity = 4;
  small.full = when_full::wait;
  device gpu = instead(small);
  for (const bool waits : {false, true}) {
    auto done = gpu.ask(lane::marker{}).then([&] {
      std::vector<future<void>> all;
      all.push_back(gpu.ask(fault::inject{.what = fault::kind::exit}));
      for (int i = 0; i < 20; ++i)
        all.push_back(gpu.ask(lane::marker{}));
      int ended_well = 0;
      for (auto& one : all)
        ended_well += one.get_result() ? 1 : 0;
      return ended_well;
    });
    if (!waits) {
      ASSERT_TRUE(eventually([&] { return done.ready(); }, 20s));
    }
    ASSERT_TRUE(done.wait_for(20s));
    EXPECT_EQ(done.get(), 20);
  }
}

TEST_P(Continuation, MayCancelAndWait) {
  in_continuations([&] {
    shared_flag flag(gpu_);
    const library_actor lane = gpu_.library("lane");
    auto first = lane.ask(hold{.flag = flag.tensor()});
    std::stop_source stop;
    auto second = lane.ask(lane::marker{}, {.stop = stop.get_token()});
    stop.request_stop();
    if (!on_gpu()) {
      const auto outcome = second.get_result();
      ASSERT_FALSE(outcome);
      EXPECT_EQ(outcome.error().code, errc::cancelled);
    }
    flag.set();
    EXPECT_TRUE(first.get_result());
  });
}

TEST_P(Continuation, MayFreeze) {
  in_continuations([&] {
    auto t = gpu_.tensor<float>({freezable}, initial::zero, placement::own).value();
    EXPECT_TRUE(gpu_.freeze(t).get_result());
    const auto refused = gpu_.ask(memory::fill{.to = t, .value = 1}).get_result();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::frozen_buffer);
    EXPECT_TRUE(gpu_.thaw(t).get_result());
    EXPECT_TRUE(gpu_.ask(memory::fill{.to = t, .value = 1}).get_result());
  });
}

TEST_P(Continuation, MayLend) {
  if (on_gpu()) GTEST_SKIP() << "gpu_mapping tests it there";
  in_continuations([&] {
    auto t = gpu_.tensor<float>({8}, initial::zero).value();
    gpu_.mapped(t, access::update).get().data<float>()[3] = 5;
    EXPECT_EQ(gpu_.ask(sum{.input = t}).get(), 5.0);
  });
}

TEST_P(Continuation, MayCopyInPieces) {
  constexpr std::int64_t n = 6 << 20;
  std::vector<float> from(n, 1.0F);
  std::vector<float> to(n);
  auto t = gpu_.tensor<float>({n}).value();
  in_continuations([&] {
    std::ranges::fill(to, 0.0F);
    gpu_.copy(std::span<const float>(from), t).get();
    gpu_.copy(t, std::span(to)).get();
    EXPECT_EQ(to, from);
  });
}

TEST_P(Continuation, OfACopyMayCopyAgain) {
  constexpr std::int64_t n = 2 << 20;
  std::vector<float> from(n, 1.0F);
  std::vector<float> to(n);
  auto t = gpu_.tensor<float>({n}).value();
  for (int i = 0; i < 4; ++i) {
    std::ranges::fill(to, 0.0F);
    auto done = gpu_.copy(std::span<const float>(from), t).then([&] {
      return gpu_.copy(t, std::span(to))
          .then([&] {
            gpu_.copy(t, std::span(to)).get();
            return 3;
          })
          .get();
    });
    ASSERT_TRUE(eventually([&] { return done.ready(); }, 20s));
    EXPECT_EQ(done.get(), 3);
    EXPECT_EQ(to, from);
  }
}

// Both were put off together: the second one runs below the first, which waits for it.
TEST_P(Continuation, MayWaitForTheOneBehindIt) {
  in_continuations([&] {
    promise<int> said;
    future<int> heard = said.get_future();
    shared_flag flag(gpu_);
    auto held = gpu_.ask(hold{.flag = flag.tensor()});
    shared_flag attached(gpu_);
    auto one = gpu_.ask(hold{.flag = attached.tensor()}).then([&] { return heard.get(); });
    attached.set();
    auto other = gpu_.ask(lane::marker{}).then([&] { said.set_value(7); });
    flag.set();
    EXPECT_EQ(one.get(), 7);
    EXPECT_TRUE(other.get_result());
    EXPECT_TRUE(held.get_result());
  });
}

TEST_P(Continuation, MayDrainAndStopTheDevice) {
  auto stopped = gpu_.ask(lane::marker{}).then([&](const result<void>&) {
    (void)gpu_.ask(lane::marker{});
    EXPECT_TRUE(gpu_.drain(10s));
    gpu_.stop();
    return true;
  });
  ASSERT_TRUE(eventually([&] { return stopped.ready(); }, 20s));
  EXPECT_TRUE(stopped.get());
  gpu_.stop();
  EXPECT_EQ(gpu_.ask(lane::marker{}).get_result().error().code, errc::device_stopped);
}

// The awaited answer comes after the stop.
TEST_P(Continuation, ThatWaitsDoesNotHoldUpTheStopOfItsDevice) {
  for (const bool restarts : {true, false}) {
    promise<int> said;
    future<int> heard = said.get_future();
    std::atomic<bool> waits = false;
    // One that is completed before would be run here, and wait here.
    shared_flag attached(gpu_);
    auto done = gpu_.ask(hold{.flag = attached.tensor()}).then([&](const result<void>&) {
      waits = true;
      return heard.get();
    });
    attached.set();
    ASSERT_TRUE(eventually([&] { return waits.load(); }));
    gpu_.stop();
    EXPECT_FALSE(done.ready());
    if (restarts) {
      EXPECT_TRUE(gpu_.restart());
      expect_usable();
    }
    said.set_value(7);
    ASSERT_TRUE(done.wait_for(20s));
    EXPECT_EQ(done.get(), 7);
  }
}

TEST_P(Continuation, ThatWaitsDoesNotHoldUpTheEndOfItsSystem) {
  promise<int> said;
  future<int> heard = said.get_future();
  std::atomic<bool> waits = false;
  future<int> done;
  {
    troupe::system system;
    device gpu = system.device(0, config());
    shared_flag attached(gpu);
    done = gpu.ask(hold{.flag = attached.tensor()}).then([&](const result<void>&) {
      waits = true;
      return heard.get();
    });
    attached.set();
    ASSERT_TRUE(eventually([&] { return waits.load(); }));
  }
  said.set_value(7);
  EXPECT_EQ(done.get(), 7);
}

// Nor does one that is not known to wait.
TEST_P(Continuation, OrWatcherThatTakesItsTimeHoldsUpNoRunLimit) {
  if (GetParam() == isolation::thread) GTEST_SKIP() << "a thread does not survive a hang";
  std::atomic<bool> go_on = false;
  std::atomic<int> blocked = 0;
  const auto block = [&] {
    ++blocked;
    EXPECT_TRUE(eventually([&] { return go_on.load(); }, 20s));
  };
  shared_flag attached(gpu_);
  auto done = gpu_.ask(hold{.flag = attached.tensor()}).then(block);
  attached.set();
  // Else the wait below may find it completed, and run its continuation itself.
  ASSERT_TRUE(eventually([&] { return blocked == 1; }));
  gpu_.watch_generation([&](std::optional<std::uint64_t>) { block(); });
  shared_flag never(gpu_);
  const auto late = gpu_.ask(hold{.flag = never.tensor()}, {.run_limit = 50ms}).get_result();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, errc::device_fault);
  EXPECT_TRUE(gpu_.ask(lane::marker{}).get_result()) << "of the next worker";
  EXPECT_EQ(blocked, 1);
  go_on = true;
  EXPECT_TRUE(done.get_result());
  gpu_.stop();  // the last that the watcher hears of, as long as there is what it uses
}

TEST_P(Continuation, OfNewsOfAGenerationMayWait) {
  std::atomic<int> heard = 0;
  std::atomic<bool> gone = false;
  gpu_.watch_generation([&](std::optional<std::uint64_t> generation) {
    if (!generation) {
      EXPECT_FALSE(gpu_.ask(lane::marker{}).get_result());
      gone = true;
    } else if (gpu_.ask(lane::marker{}).get_result()) {
      ++heard;
    }
  });
  ASSERT_TRUE(eventually([&] { return heard > 0; }));
  if (GetParam() == isolation::process) {
    const int before = heard;
    kill_worker(gpu_);
    EXPECT_TRUE(eventually([&] { return heard > before; }));
  }
  gpu_.stop();
  EXPECT_TRUE(eventually([&] { return gone.load(); }));
}

// Each device's thread waits for the other device, which gets on all the same.
TEST(ContinuationOfTwoDevices, MayWaitForEachOther) {
  troupe::system system;
  device one = system.device(0, permissive());
  const std::optional<device> second = second_device(system, permissive());
  if (!second) GTEST_SKIP() << "there is one GPU";
  device two = *second;
  std::atomic<int> met = 0;
  const auto meet = [&](device& own, device& other) {
    return own.ask(lane::marker{}).then([&] {
      ++met;
      EXPECT_TRUE(eventually([&] { return met == 2; }));
      // Waited for here, and so brought in by the other's own thread, which does the same.
      EXPECT_TRUE(other.ask(lane::marker{}).get_result());
      const auto fault = other.ask(fault::inject{.what = fault::kind::exit}).get_result();
      EXPECT_FALSE(fault);
      return other.ask(lane::marker{}).get_result().has_value();
    });
  };
  auto here = meet(one, two);
  auto there = meet(two, one);
  ASSERT_TRUE(eventually([&] { return here.ready() && there.ready(); }, 30s));
  EXPECT_TRUE(here.get());
  EXPECT_TRUE(there.get());
}

}  // namespace
}  // namespace troupe::test
