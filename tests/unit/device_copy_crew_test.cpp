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

 private:
  std::function<void(std::uint32_t)> what_;
};

/// Waits at its end for its orders.
class orderly_crew : public copy_crew {
 public:
  using copy_crew::copy_crew;
  orderly_crew(const orderly_crew&) = delete;
  orderly_crew& operator=(const orderly_crew&) = delete;
  ~orderly_crew() {
    while (open_.load() > 0)
      std::this_thread::yield();
  }

  /// An order of one batch, which its last part closes.
  void post(std::uint32_t parts, std::function<void(std::uint32_t)> what,
            unsigned most_threads = 100) {
    open_.fetch_add(1);
    const auto posted = open({.most_batches = 1, .parts = parts, .most_threads = most_threads});
    auto left = std::make_shared<std::atomic<std::uint32_t>>(parts);
    // Order and part hold each other until then.
    auto do_part = [this, held = posted, left = std::move(left),
                    what = std::move(what)](std::uint32_t part) mutable {
      what(part);
      if (left->fetch_sub(1) != 1) return;
      close(std::exchange(held, nullptr));
      open_.fetch_sub(1);
    };
    add(posted, {.what = std::make_shared<task>(std::move(do_part)), .parts = parts});
  }

 private:
  std::atomic<int> open_{0};
};

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
  orderly_crew crew(3);
  crew.post(10, [&, may_go](std::uint32_t) {
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
  orderly_crew crew(3);
  const auto held = [&, may_go](std::uint32_t) {
    at_work.fetch_add(1);
    may_go.wait();
    done.fetch_add(1);
  };
  crew.post(10, held, 1);
  wait_for(at_work, 1);
  // Another's work, for which there are threads.
  std::atomic<int> others{0};
  crew.post(20, [&](std::uint32_t) { others.fetch_add(1); });
  wait_for(others, 20);
  EXPECT_EQ(at_work, 1);
  go.set_value();
  wait_for(done, 10);
}

TEST(CopyCrew, DoesEachPartOnceWhoeverHelps) {
  constexpr int batches = 300;
  constexpr std::uint32_t parts = 40;
  std::vector<std::atomic<int>> times(std::size_t{batches} * parts);
  std::atomic<int> done{0};
  orderly_crew crew(5);
  const auto poster = [&](int from) {
    for (int i = from; i < batches; i += 2) {
      const auto first = static_cast<std::uint32_t>(i) * parts;
      const auto do_part = [&, first](std::uint32_t part) {
        times[first + part].fetch_add(1);
        done.fetch_add(1);
      };
      crew.post(parts, do_part,
                1 + static_cast<unsigned>(i) % 6);        // fewer than there are, or more
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

TEST(CopyCrew, BeginsTheBatchesOfAnOrderInTurn) {
  std::vector<std::uint32_t> begun;
  std::atomic<int> done{0};
  copy_crew crew(1);
  const auto order = crew.open({.most_batches = 2, .parts = 6, .most_threads = 1});
  for (const std::uint32_t name : {10u, 20u}) {
    crew.add(order, {.what = std::make_shared<task>([&, name](std::uint32_t part) {
                       begun.push_back(name + part);
                       done.fetch_add(1);
                     }),
                     .parts = 3});
  }
  wait_for(done, 6);
  crew.close(order);
  EXPECT_EQ(begun, (std::vector<std::uint32_t>{10, 11, 12, 20, 21, 22}));
}

// Of orders whose parts come around the time at which its threads leave them, or fall asleep.
TEST(CopyCrew, ComesToEachBatchHoweverLateItIs) {
  constexpr std::uint32_t parts = 3;
  constexpr int batches = 300;
  std::atomic<int> done{0};
  copy_crew crew(2);
  std::vector<std::shared_ptr<copy_crew::order>> orders;
  orders.reserve(3);
  for (int i = 0; i < 3; ++i)
    orders.push_back(crew.open({.most_batches = batches, .parts = parts, .most_threads = 2}));
  for (int i = 1; i <= batches; ++i) {
    const auto one = std::make_shared<task>([&](std::uint32_t) { done.fetch_add(1); });
    crew.add(orders[static_cast<std::size_t>(i * 7 / 5 % 3)], {.what = one, .parts = parts});
    if (i % 4 == 0) continue;
    wait_for(done, i * static_cast<int>(parts));
    std::this_thread::sleep_for(std::chrono::microseconds(3 * i));
  }
  wait_for(done, batches * static_cast<int>(parts));
  for (const auto& order : orders)
    crew.close(order);
}

TEST(CopyCrew, ComesToABatchWhoseOrderHasNobodyFree) {
  std::promise<void> go;
  std::atomic<int> at_work{0};
  copy_crew crew(2);
  const auto order = crew.open({.most_batches = 2, .parts = 1, .most_threads = 2});
  const auto waits = std::make_shared<task>([&](std::uint32_t) {
    at_work.fetch_add(1);
    go.get_future().wait();
    at_work.fetch_add(1);
  });
  crew.add(order, {.what = waits, .parts = 1});
  wait_for(at_work, 1);
  std::this_thread::sleep_for(5ms);  // so that the other one has left
  std::promise<void> done;
  const auto frees = std::make_shared<task>([&](std::uint32_t) { done.set_value(); });
  crew.add(order, {.what = frees, .parts = 1});
  EXPECT_EQ(done.get_future().wait_for(10s), std::future_status::ready);
  go.set_value();
  wait_for(at_work, 2);
  crew.close(order);
}

TEST(CopyCrew, LeavesAnOrderThatWaitsForOneThatDoesNot) {
  using clock = std::chrono::steady_clock;
  std::atomic<int> done{0};
  const auto one = std::make_shared<task>([&](std::uint32_t) { done.fetch_add(1); });
  orderly_crew crew(1);
  // The soonest of many, however busy the machine is. It would leave by itself after 300 us.
  clock::duration soonest = 1h;
  for (int i = 1; i <= 300; ++i) {
    const auto waits = crew.open({.most_batches = 1, .parts = 100, .most_threads = 1});
    crew.add(waits, {.what = one, .parts = 1});
    wait_for(done, 2 * i - 1);
    const auto posted = clock::now();
    crew.post(1, [&](std::uint32_t) { done.fetch_add(1); });
    wait_for(done, 2 * i);
    soonest = std::min(soonest, clock::now() - posted);
    crew.close(waits);
  }
  EXPECT_LT(soonest, 150us);
}

TEST(CopyCrew, WakesForEachWorkHoweverLongItHasSlept) {
  std::atomic<int> done{0};
  orderly_crew crew(2);
  for (int i = 1; i <= 200; ++i) {
    crew.post(1, [&](std::uint32_t) { done.fetch_add(1); });
    wait_for(done, i);
    // Around the time at which it falls asleep.
    std::this_thread::sleep_for(std::chrono::microseconds(5 * i));
  }
}

TEST(CopyCrew, ComesToTheNextWorkAtOnceWhileItSpins) {
  using clock = std::chrono::steady_clock;
  std::atomic<int> done{0};
  orderly_crew crew(1);
  // The soonest of many, however busy the machine is. It would look for work by itself after the
  // 300 us for which it spins.
  clock::duration soonest = 1h;
  for (int i = 1; i <= 300; ++i) {
    const auto posted = clock::now();
    crew.post(1, [&](std::uint32_t) { done.fetch_add(1); });
    wait_for(done, i);
    soonest = std::min(soonest, clock::now() - posted);
  }
  EXPECT_LT(soonest, 150us);
}

TEST(CopyCrew, LetsGoOfWorkThatWhoeverHelpsHasDone) {
  std::promise<void> go;
  std::shared_future<void> may_go = go.get_future().share();
  std::atomic<int> at_work{0};
  orderly_crew crew(1);
  crew.post(1, [&, may_go](std::uint32_t) {
    at_work.fetch_add(1);
    may_go.wait();
  });
  wait_for(at_work, 1);
  std::weak_ptr<int> held;
  {
    const auto kept = std::make_shared<int>(0);
    held = kept;
    crew.post(1, [kept](std::uint32_t) {});
  }
  EXPECT_TRUE(crew.help());
  EXPECT_TRUE(held.expired());
  go.set_value();
}

TEST(CopyCrew, CostsNothingWhileThereIsNoWork) {
  std::atomic<int> done{0};
  orderly_crew crew(4);
  crew.post(100, [&](std::uint32_t) { done.fetch_add(1); });
  wait_for(done, 100);
  std::this_thread::sleep_for(50ms);
  const auto before = time_of_processors();
  std::this_thread::sleep_for(300ms);
  EXPECT_LT(time_of_processors() - before, 30ms);
}

TEST(CopyCrew, KnowsItsThreads) {
  std::promise<bool> known;
  orderly_crew crew(1);
  EXPECT_FALSE(crew.has_this_thread());
  crew.post(1, [&](std::uint32_t) { known.set_value(crew.has_this_thread()); });
  EXPECT_TRUE(known.get_future().get());
}

TEST(CopyCrew, MayBeEndedByItsOwnLastWork) {
  auto crew = std::make_shared<copy_crew>(2);
  std::promise<void> posted;
  std::promise<void> done;
  copy_crew& named = *crew;
  auto order = named.open({.most_batches = 1, .parts = 1, .most_threads = 1});
  const auto last =
      std::make_shared<task>([crew = std::move(crew), &done, order,
                              may_end = posted.get_future().share()](std::uint32_t) mutable {
        may_end.wait();
        crew->close(std::exchange(order, nullptr));  // they hold each other until then
        crew.reset();
        done.set_value();
      });
  named.add(order, {.what = last, .parts = 1});
  posted.set_value();
  done.get_future().wait();
}

}  // namespace
}  // namespace troupe
