#include "device/copy_crew.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
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

struct task final : copy_crew::work {
  explicit task(std::function<void(std::uint32_t)> what) : what_(std::move(what)) {}
  void do_part(std::uint32_t part) override { what_(part); }
  unsigned most_threads() const noexcept override { return most.load(); }

  std::atomic<unsigned> most{100};

 private:
  std::function<void(std::uint32_t)> what_;
};

void post(copy_crew& crew, std::uint32_t parts, std::function<void(std::uint32_t)> what,
          unsigned most_threads = 100) {
  const auto posted = std::make_shared<task>(std::move(what));
  posted->most = most_threads;
  copy_crew::batch one{.what = posted, .parts = parts};
  crew.post({&one, 1});
}

void wait_for(const std::atomic<int>& count, int expected) {
  while (count.load() < expected)
    std::this_thread::yield();
}

std::chrono::microseconds time_of_processors() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto of = [](const timeval& t) {
    return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
  };
  return of(used.ru_utime) + of(used.ru_stime);
}

TEST(CopyCrew, WorksInAsManyThreadsAsThereIsWorkForAndNoMore) {
  std::promise<void> go;
  std::shared_future<void> may_go = go.get_future().share();
  std::atomic<int> at_work{0};
  std::atomic<int> done{0};
  copy_crew crew(3);
  post(crew, 10, [&, may_go](std::uint32_t) {
    at_work.fetch_add(1);
    may_go.wait();
    done.fetch_add(1);
  });
  wait_for(at_work, 3);
  EXPECT_EQ(at_work, 3);
  go.set_value();
  wait_for(done, 10);
}

TEST(CopyCrew, IsAtWorkInNoMoreThreadsThanThatMayHave) {
  std::promise<void> go;
  std::shared_future<void> may_go = go.get_future().share();
  std::atomic<int> at_work{0};
  std::atomic<int> done{0};
  copy_crew crew(3);
  const auto shy = std::make_shared<task>([&, may_go](std::uint32_t) {
    at_work.fetch_add(1);
    may_go.wait();
    done.fetch_add(1);
  });
  shy->most = 1;
  copy_crew::batch one{.what = shy, .parts = 10};
  crew.post({&one, 1});
  wait_for(at_work, 1);
  // Another's work, for which there are threads.
  std::atomic<int> others{0};
  post(crew, 20, [&](std::uint32_t) { others.fetch_add(1); });
  wait_for(others, 20);
  EXPECT_EQ(at_work, 1);
  shy->most = 2;
  crew.call(10);
  wait_for(at_work, 2);
  EXPECT_EQ(at_work, 2);
  go.set_value();
  wait_for(done, 10);
}

TEST(CopyCrew, DoesEachPartOnceWhoeverHelps) {
  constexpr int batches = 300;
  constexpr std::uint32_t parts = 40;
  std::vector<std::atomic<int>> times(std::size_t{batches} * parts);
  std::atomic<int> done{0};
  copy_crew crew(5);
  const auto poster = [&](int from) {
    for (int i = from; i < batches; i += 2) {
      const auto first = static_cast<std::uint32_t>(i) * parts;
      const auto do_part = [&, first](std::uint32_t part) {
        times[first + part].fetch_add(1);
        done.fetch_add(1);
      };
      post(crew, parts, do_part,
           1 + static_cast<unsigned>(i) % 6);  // fewer than there are, or more
      if (i % 3 == 0) crew.call(parts);
      if (i % 50 == 0) std::this_thread::sleep_for(1ms);  // so that they sleep now and then
      while (i % 7 == 0 && crew.help()) {
      }
    }
  };
  std::thread other(poster, 1);
  poster(0);
  other.join();
  wait_for(done, batches * static_cast<int>(parts));
  for (const auto& one : times)
    ASSERT_EQ(one, 1);
}

TEST(CopyCrew, BeginsWhatWasPostedInItsOrder) {
  std::vector<std::uint32_t> order;
  std::atomic<int> done{0};
  copy_crew crew(1);
  std::vector<copy_crew::batch> both;
  for (const std::uint32_t name : {10u, 20u}) {
    both.push_back({.what = std::make_shared<task>([&, name](std::uint32_t part) {
                      order.push_back(name + part);
                      done.fetch_add(1);
                    }),
                    .parts = 3});
  }
  crew.post(both);
  wait_for(done, 6);
  EXPECT_EQ(order, (std::vector<std::uint32_t>{10, 11, 12, 20, 21, 22}));
}

TEST(CopyCrew, WakesForEachWorkHoweverLongItHasSlept) {
  std::atomic<int> done{0};
  copy_crew crew(2);
  for (int i = 1; i <= 200; ++i) {
    post(crew, 1, [&](std::uint32_t) { done.fetch_add(1); });
    wait_for(done, i);
    // Around the time at which it falls asleep.
    std::this_thread::sleep_for(std::chrono::microseconds(5 * i));
  }
}

TEST(CopyCrew, ComesToTheNextWorkAtOnceWhileItSpins) {
  using clock = std::chrono::steady_clock;
  std::atomic<int> done{0};
  copy_crew crew(1);
  // The soonest of many, however busy the machine is. It would look for work by itself after the
  // 300 us for which it spins.
  clock::duration soonest = 1h;
  for (int i = 1; i <= 300; ++i) {
    const auto posted = clock::now();
    post(crew, 1, [&](std::uint32_t) { done.fetch_add(1); });
    wait_for(done, i);
    soonest = std::min(soonest, clock::now() - posted);
  }
  EXPECT_LT(soonest, 150us);
}

TEST(CopyCrew, LetsGoOfWorkThatWhoeverHelpsHasDone) {
  std::promise<void> go;
  std::shared_future<void> may_go = go.get_future().share();
  std::atomic<int> at_work{0};
  copy_crew crew(1);
  post(crew, 1, [&, may_go](std::uint32_t) {
    at_work.fetch_add(1);
    may_go.wait();
  });
  wait_for(at_work, 1);
  std::weak_ptr<int> held;
  {
    const auto kept = std::make_shared<int>(0);
    held = kept;
    post(crew, 1, [kept](std::uint32_t) {});
  }
  EXPECT_TRUE(crew.help());
  EXPECT_TRUE(held.expired());
  go.set_value();
}

TEST(CopyCrew, CostsNothingWhileThereIsNoWork) {
  std::atomic<int> done{0};
  copy_crew crew(4);
  post(crew, 100, [&](std::uint32_t) { done.fetch_add(1); });
  wait_for(done, 100);
  std::this_thread::sleep_for(50ms);
  const auto before = time_of_processors();
  std::this_thread::sleep_for(300ms);
  EXPECT_LT(time_of_processors() - before, 30ms);
}

TEST(CopyCrew, KnowsItsThreads) {
  std::promise<bool> known;
  copy_crew crew(1);
  EXPECT_FALSE(crew.has_this_thread());
  post(crew, 1, [&](std::uint32_t) { known.set_value(crew.has_this_thread()); });
  EXPECT_TRUE(known.get_future().get());
}

TEST(CopyCrew, MayBeEndedByItsOwnLastWork) {
  auto crew = std::make_shared<copy_crew>(2);
  std::promise<void> posted;
  std::promise<void> done;
  copy_crew& named = *crew;
  post(named, 1,
       [crew = std::move(crew), &done,
        may_end = posted.get_future().share()](std::uint32_t) mutable {
         may_end.wait();
         crew.reset();
         done.set_value();
       });
  posted.set_value();
  done.get_future().wait();
}

}  // namespace
}  // namespace troupe
