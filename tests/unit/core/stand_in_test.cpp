// Turns that sleep, in as many threads as the pool has: the actors they sleep for get a thread.

#include "no_more_threads.hpp"
#include "under_sanitizers.hpp"

#include <troupe/core/future_combine.hpp>
#include <troupe/core/system.hpp>
#include <troupe/core/task.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;

struct item {
  int n;
};
struct produce {};

directive always_restart(const error&) noexcept { return directive::restart; }

system_config with_threads(int threads) {
  system_config c;
  c.threads = threads;
  c.supervision = {.decider = &always_restart,
                   .budget = {.restarts = 1000},
                   .backoff = {.initial = 0ms, .longest = 0ms}};
  return c;
}

template <class Consumer>
class producer final : public actor {
 public:
  producer(actor_ref<Consumer> to, int count) : to_(std::move(to)), count_(count) {}
  int handle(produce) {
    int taken = 0;
    for (int i = 0; i < count_; ++i)
      taken += to_.tell(item{i}) ? 1 : 0;
    return taken;
  }

 private:
  actor_ref<Consumer> to_;
  int count_;
};

// Every producer waits for room, in a turn of its own.
template <class Consumer, class... Args>
void expect_all_taken(int threads, const std::atomic<int>& handled, int lost_each, Args&&... args) {
  constexpr int producers = 4;
  constexpr int each = 300;
  troupe::system system(with_threads(threads));
  auto consumer = system.spawn<Consumer>(spawn_options{.mailbox = {.capacity = 16}},
                                         std::forward<Args>(args)(system)...);
  std::vector<future<int>> all;
  all.reserve(producers);
  for (int i = 0; i < producers; ++i)
    all.push_back(system.spawn<producer<Consumer>>(consumer, each).ask(produce{}));
  for (auto& one : all) {
    ASSERT_TRUE(one.wait_for(20s)) << threads << " threads, handled " << handled;
    EXPECT_EQ(one.get(), each);
  }
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (handled < producers * (each - lost_each) && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  EXPECT_EQ(handled, producers * (each - lost_each));
}

std::atomic<int> handled;

class failing_consumer final : public actor {
 public:
  void handle(item i) {
    if (i.n % 50 == 7) throw std::runtime_error("a bad item");
    ++handled;
  }
};

TEST(StandIn, RestartsTheReceiverForWhoseRoomAllWait) {
  for (const int threads : {1, 2, 3}) {
    handled = 0;
    expect_all_taken<failing_consumer>(threads, handled, 6);
  }
}

class helper final : public actor {
 public:
  int handle(item i) { return i.n; }
};

class awaiting_consumer final : public actor {
 public:
  explicit awaiting_consumer(actor_ref<helper> h) : helper_(std::move(h)) {}
  task<void> handle(item i) {
    EXPECT_EQ(co_await helper_.ask(i), i.n);
    ++handled;
  }

 private:
  actor_ref<helper> helper_;
};

TEST(StandIn, AnswersTheReceiverForWhoseRoomAllWait) {
  for (const int threads : {1, 2, 3}) {
    handled = 0;
    expect_all_taken<awaiting_consumer>(threads, handled, 0,
                                        [](troupe::system& s) { return s.spawn<helper>(); });
  }
}

// Waits, in turns on each other's threads, for futures that no actor is known to complete.
class waiter final : public actor {
 public:
  explicit waiter(std::vector<actor_ref<helper>> helpers) : helpers_(std::move(helpers)) {}
  int handle(item i) {
    std::vector<future<int>> all;
    all.reserve(helpers_.size());
    for (auto& h : helpers_)
      all.push_back(h.ask(i));
    int sum = 0;
    for (const int n : when_all(std::move(all)).get())
      sum += n;
    return sum;
  }

 private:
  std::vector<actor_ref<helper>> helpers_;
};

TEST(StandIn, AnswersHandlersThatWaitInAllThreads) {
  for (const int threads : {1, 2}) {
    troupe::system system(with_threads(threads));
    std::vector<actor_ref<helper>> helpers;
    helpers.reserve(3);
    for (int i = 0; i < 3; ++i)
      helpers.push_back(system.spawn<helper>());
    std::vector<actor_ref<waiter>> waiters;
    waiters.reserve(4);
    for (int i = 0; i < 4; ++i)
      waiters.push_back(system.spawn<waiter>(helpers));
    for (int round = 0; round < 100; ++round) {
      std::vector<future<int>> answers;
      answers.reserve(waiters.size());
      for (auto& w : waiters)
        answers.push_back(w.ask(item{round}));
      for (auto& a : answers) {
        ASSERT_TRUE(a.wait_for(20s)) << threads << " threads, round " << round;
        EXPECT_EQ(a.get(), 3 * round);
      }
    }
  }
}

// Each waits in its turn for the one after it; only the last one answers by itself.
class link final : public actor {
 public:
  explicit link(std::vector<actor_ref<link>> next) : next_(std::move(next)) {}
  int handle(item i) {
    if (next_.empty()) return i.n;
    auto later = next_.front().ask(i).then([](int n) { return n + 1; });
    auto also = when_all(std::move(later));
    return std::get<0>(also.get());
  }

 private:
  std::vector<actor_ref<link>> next_;
};

TEST(StandIn, ThereAreAsManyAsSleep) {
  troupe::system system(with_threads(2));
  constexpr int links = 40;
  auto first = system.spawn<link>(std::vector<actor_ref<link>>{});
  for (int i = 0; i < links; ++i)
    first = system.spawn<link>(std::vector{first});
  for (int round = 0; round < 20; ++round) {
    auto answer = first.ask(item{round});
    ASSERT_TRUE(answer.wait_for(20s));
    EXPECT_EQ(answer.get(), round + links);
  }
}

// In a process of its own, whose address space has no room for so many stacks.
TEST(Pool, WhoseThreadsCannotBeStartedSaysSo) {
  if (test::under_sanitizers) GTEST_SKIP() << "their address space is their own";
  const auto starts = [] {
    leave_address_space(64U << 20);
    try {
      const troupe::system system({.threads = 256});
    } catch (const failure& why) {
      std::fputs(why.what(), stderr);
      ::_exit(why.code() == errc::system_error ? 0 : 1);
    }
    ::_exit(2);
  };
  EXPECT_EXIT(starts(), ::testing::ExitedWithCode(0), "a pool of 256 threads, of which");
}

}  // namespace
}  // namespace troupe
