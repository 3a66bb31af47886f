// The order of turns on the threads of a pool.

#include "under_sanitizers.hpp"

#include <troupe/core/system.hpp>

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;

struct go {};

class flag_setter final : public actor {
 public:
  explicit flag_setter(std::atomic<bool>* flag) : flag_(flag) {}
  void handle(go) { flag_->store(true); }

 private:
  std::atomic<bool>* flag_;
};

// No thread is woken for an actor that the running turn makes ready: some thread has to look.
class waits_in_vain final : public actor {
 public:
  waits_in_vain(std::vector<actor_ref<flag_setter>> others, std::atomic<bool>* flag)
      : others_(std::move(others)), flag_(flag) {}
  void handle(go) {
    flag_->store(false);
    for (auto& one : others_)
      one.tell(go{});
    while (!flag_->load())
      std::this_thread::yield();
  }

 private:
  std::vector<actor_ref<flag_setter>> others_;
  std::atomic<bool>* flag_;
};

TEST(Pool, RunsOnAnotherThreadWhatATurnThatDoesNotEndHasMadeReady) {
  for (const int threads : {2, 3, 4}) {
    std::atomic<bool> flag{false};
    troupe::system system({.threads = threads});
    const auto setter = system.spawn<flag_setter>(&flag);
    const auto turn = system.spawn<waits_in_vain>(std::vector{setter}, &flag);
    for (int i = 0; i < 50; ++i) {
      auto done = turn.ask(go{});
      ASSERT_TRUE(done.wait_for(20s)) << threads << " threads, turn " << i;
      if (i % 10 == 0) ::usleep(5'000);  // the others stop looking
    }
  }
}

// All in one thread, so that no turn is late for another reason.
struct fairness {
  std::int64_t handled = 0;  // by all that are busy
  std::int64_t longest = 0;  // until a quiet one had its turn
  promise<void> ended;
};

struct since {
  std::int64_t handled;
};

class quiet final : public actor {
 public:
  explicit quiet(fairness* seen) : seen_(seen) {}
  void handle(since begun) {
    seen_->longest = std::max(seen_->longest, seen_->handled - begun.handled);
  }

 private:
  fairness* seen_;
};

// Always has a message.
class busy final : public actor {
 public:
  busy(actor_ref<quiet> other, fairness* seen) : other_(std::move(other)), seen_(seen) {}
  void handle(go m) {
    constexpr std::int64_t end = 300'000;
    if (++seen_->handled == end) return seen_->ended.set_value();
    if (seen_->handled < end) reference(this).tell(m);
    if (seen_->handled % 5'000 == 0) other_.tell(since{seen_->handled});
  }

 private:
  actor_ref<quiet> other_;
  fairness* seen_;
};

TEST(Pool, LetsEachHaveATurnAfterAsManyMessagesOfEveryOtherAsItIsTold) {
  constexpr int busy_ones = 8;
  constexpr int throughput = 64;
  fairness seen;
  auto ended = seen.ended.get_future();
  {
    troupe::system system({.threads = 1, .throughput = throughput});
    const auto other = system.spawn<quiet>(&seen);
    for (int i = 0; i < busy_ones; ++i)
      system.spawn<busy>(other, &seen).tell(go{});
    ended.get();
  }
  EXPECT_LE(seen.longest, (busy_ones + 1) * throughput);
}

TEST(Pool, TakesMemoryForEachThreadHoweverManyThereAre) {
  if (test::under_sanitizers) GTEST_SKIP() << "their memory is their own";
  const auto in_use = [] { return ::mallinfo2().uordblks + ::mallinfo2().hblkhd; };
  constexpr std::size_t threads = 1'000;
  const auto before = in_use();
  const troupe::system system({.threads = threads});
  EXPECT_LT(in_use(), before + 2'000 * threads);
}

}  // namespace
}  // namespace troupe
