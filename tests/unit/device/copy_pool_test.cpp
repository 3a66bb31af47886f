#include "device/copy/copy_pool.hpp"

#include "under_sanitizers.hpp"
#include "unit/core/no_more_threads.hpp"

#include <troupe/core/future.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;

struct counting_job final : copy_pool::job {
  explicit counting_job(std::function<void(std::uint32_t)> what) : what_(std::move(what)) {}
  void do_part(std::uint32_t part) noexcept override { what_(part); }

 private:
  std::function<void(std::uint32_t)> what_;
};

std::shared_ptr<counting_job> job(std::function<void(std::uint32_t)> what) {
  return std::make_shared<counting_job>(std::move(what));
}

void wait_for(const std::atomic<int>& count, int expected) {
  while (count.load() < expected)
    std::this_thread::yield();
}

/// For jobs that complete no future.
void nobody(detail::continuation_queue) {}

TEST(CopyPool, DoesEachPartOnce) {
  constexpr std::uint32_t parts = 1000;
  std::vector<std::atomic<int>> done(parts);
  std::atomic<int> all{0};
  copy_pool pool(4, &nobody);
  for (int round = 1; round <= 20; ++round) {
    pool.add(job([&](std::uint32_t part) {
               done[part].fetch_add(1);
               all.fetch_add(1);
             }),
             parts);
  }
  wait_for(all, 20 * parts);
  for (const auto& one : done)
    EXPECT_EQ(one.load(), 20);
}

TEST(CopyPool, HasAllThreadsAtTheFirstJob) {
  std::atomic<int> at_work{0};
  copy_pool pool(3, &nobody);
  pool.add(job([&](std::uint32_t) {
             at_work.fetch_add(1);
             wait_for(at_work, 3);
           }),
           3);
  wait_for(at_work, 3);
}

TEST(CopyPool, BeginsJobsInTheOrderInWhichTheyCame) {
  std::vector<int> order;
  std::atomic<int> done{0};
  copy_pool pool(1, &nobody);
  for (int i = 0; i < 100; ++i) {
    pool.add(job([&, i](std::uint32_t) {
               order.push_back(i);
               done.fetch_add(1);
             }),
             1);
  }
  wait_for(done, 100);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(CopyPool, TakesJobsFromItsOwnThreads) {
  std::atomic<int> done{0};
  copy_pool pool(1, &nobody);
  pool.add(job([&](std::uint32_t) { pool.add(job([&](std::uint32_t) { done.fetch_add(1); }), 5); }),
           1);
  wait_for(done, 5);
}

TEST(CopyPool, WakesForEachJobHoweverLongItHasSlept) {
  std::atomic<int> done{0};
  copy_pool pool(2, &nobody);
  for (int i = 1; i <= 200; ++i) {
    pool.add(job([&](std::uint32_t) { done.fetch_add(1); }), 1);
    wait_for(done, i);
    // Around the time at which it falls asleep.
    std::this_thread::sleep_for(std::chrono::microseconds(5 * i));
  }
}

TEST(CopyPool, HandsOnWhatTheProgramContinuesWith) {
  promise<void> source;
  std::atomic<int> continued{0};
  std::atomic<int> handed_on{0};
  future<void> done = source.get_future().then([&] { continued.fetch_add(1); });
  copy_pool pool(1, [&](detail::continuation_queue continuations) {
    handed_on.fetch_add(1);
    EXPECT_EQ(continued.load(), 0);
    std::thread([&] {
      detail::deferred_continuations::mine().run(std::move(continuations));
    }).join();
  });
  pool.add(job([&](std::uint32_t) { source.set_value(); }), 1);
  done.wait();
  EXPECT_EQ(handed_on.load(), 1);
  EXPECT_EQ(continued.load(), 1);
}

TEST(CopyPool, LetsGoOfAJobOnceItIsDone) {
  std::promise<void> go;
  std::atomic<int> done{0};
  copy_pool pool(1, &nobody);
  auto kept = std::make_shared<int>(0);
  const std::weak_ptr<int> held = kept;
  pool.add(job([&, kept = std::move(kept)](std::uint32_t) { done.fetch_add(1); }), 3);
  pool.add(job([&](std::uint32_t) { done.fetch_add(1); }), 1);
  wait_for(done, 4);
  EXPECT_TRUE(held.expired());
}

TEST(CopyPool, MayBeEndedByItsOwnLastJob) {
  auto pool = std::make_shared<copy_pool>(2, &nobody);
  std::promise<void> added;
  std::promise<void> done;
  copy_pool& named = *pool;
  named.add(job([pool = std::move(pool), &done,
                 may_end = added.get_future().share()](std::uint32_t) mutable {
              may_end.wait();
              pool.reset();
              done.set_value();
            }),
            1);
  added.set_value();
  done.get_future().wait();
}

TEST(CopyPool, CopiesInTheCallersThreadWhereNoneCanBeStarted) {
  if (test::under_sanitizers) GTEST_SKIP() << "a sanitizer needs the address space";
  EXPECT_EXIT(
      {
        int done = 0;
        copy_pool pool(2, &nobody);
        start_all_threads_there_are();
        pool.add(job([&](std::uint32_t) { ++done; }), 3);
        ::_exit(done);
      },
      ::testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace troupe
