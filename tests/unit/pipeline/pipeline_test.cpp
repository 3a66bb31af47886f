// Items through stages: in order, no more than there are frames, each answered once.
#include <troupe/core/system.hpp>
#include <troupe/pipeline.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <random>
#include <stdexcept>
#include <thread>

namespace troupe {
namespace {

using namespace std::chrono_literals;

struct frame {
  int number = 0;
};
auto counted_frames() {
  return [n = 0]() mutable { return frame{n++}; };
}

TEST(Pipeline, ResultsComeInTheOrderOfPush) {
  auto doubled = pipeline_of<int>({.in_flight = 3}, counted_frames())
                     .stage("note", [](frame& f, int& in) { f.number = 2 * in; })
                     .last("tell", [](frame& f) { return f.number; });
  std::vector<future<int>> all;
  all.reserve(100);
  for (int i = 0; i < 100; ++i)
    all.push_back(doubled.push(i));
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(all[static_cast<std::size_t>(i)].get(), 2 * i);
}

/// Answers of a thread of its own, in any order.
class later {
 public:
  ~later() { thread_.join(); }
  future<void> answer() {
    promise<void> one;
    future<void> comes = one.get_future();
    const std::lock_guard lock(mutex_);
    open_.push_back(std::move(one));
    return comes;
  }
  void end() { over_ = true; }

 private:
  void run() {
    std::mt19937 random(7);
    while (!over_) {
      std::optional<promise<void>> one;
      {
        const std::lock_guard lock(mutex_);
        if (!open_.empty()) {
          std::swap(open_[random() % open_.size()], open_.back());
          one = std::move(open_.back());
          open_.pop_back();
        }
      }
      if (one) {
        if (random() % 50 == 0) {
          one->set_error({.code = errc::numerical, .message = "by chance"});
        } else {
          one->set_value();
        }
      } else {
        std::this_thread::yield();
      }
    }
  }

  std::mutex mutex_;
  std::vector<promise<void>> open_;
  std::atomic<bool> over_{false};
  std::thread thread_{[this] { run(); }};
};

/// How many are inside at once, and how many there were at most.
struct presence {
  std::atomic<int> now{0};
  std::atomic<int> most{0};

  void come() {
    const int after = ++now;
    for (int seen = most; seen < after && !most.compare_exchange_weak(seen, after);) {
    }
  }
};

task<void> in_two_steps(later& by, presence& inside) {
  inside.come();
  const auto outcome = co_await as_result(by.answer());
  --inside.now;
  if (!outcome) throw failure({.code = errc::numerical});
}

std::vector<std::pair<int, future<int>>> pushed_by_threads(pipeline<int, int>& to) {
  std::mutex mutex;
  std::vector<std::pair<int, future<int>>> outcomes;
  std::vector<std::thread> threads;
  threads.reserve(3);
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const int in = 1000 * t + i;
        future<int> one = to.push(in);
        const std::lock_guard lock(mutex);
        outcomes.emplace_back(in, std::move(one));
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  return outcomes;
}

/// A later stage sees items in the order of the first one, without those that failed before it.
void expect_in_order_of(const std::vector<int>& first, const std::vector<int>& later_stage) {
  std::size_t at = 0;
  for (const int in : later_stage) {
    while (at < first.size() && first[at] != in)
      ++at;
    ASSERT_LT(at, first.size()) << in;
  }
}

// Stages of each kind, answers in any order, failures of all kinds, pushes of several threads.
TEST(Pipeline, AnswersEachItemOnceWhateverItsStagesDo) {
  later answers;
  presence inside;
  std::mutex mutex;
  std::map<int, std::vector<int>> seen;  // by stage
  const auto note = [&](int stage, int in) {
    const std::lock_guard lock(mutex);
    seen[stage].push_back(in);
  };
  int good = 0;
  int bad = 0;
  {
    auto all = pipeline_of<int>({.in_flight = 5}, counted_frames())
                   .stage("first",
                          [&](frame& f, int& in) {
                            f.number = in;
                            note(0, in);
                            return answers.answer();
                          })
                   .stage(
                       "task", [&](frame&) { return in_two_steps(answers, inside); }, 2)
                   .stage("check",
                          [&](frame& f) -> result<void> {
                            note(2, f.number);
                            if (f.number % 17 == 3) return error{.code = errc::invalid_argument};
                            if (f.number % 19 == 4) throw std::runtime_error("thrown");
                            return {};
                          })
                   .stage("several",
                          [&](frame&) {
                            std::vector<future<void>> sent;
                            sent.reserve(3);
                            for (int i = 0; i < 3; ++i)
                              sent.push_back(answers.answer());
                            return sent;
                          })
                   .last("number", [&](frame& f) -> result<int> { return f.number; });
    for (auto& [in, outcome] : pushed_by_threads(all)) {
      auto ended = outcome.get_result();
      if (ended) {
        EXPECT_EQ(*ended, in);
        ++good;
      } else {
        EXPECT_TRUE(ended.error().message.starts_with("stage ")) << ended.error().to_string();
        ++bad;
      }
    }
    all.close().get();
  }
  answers.end();
  EXPECT_EQ(good + bad, 600);
  EXPECT_GT(good, 300);
  EXPECT_GT(bad, 60);
  EXPECT_LE(inside.most, 2);
  EXPECT_EQ(seen[0].size(), 600U);
  expect_in_order_of(seen[0], seen[2]);
}

TEST(Pipeline, HasNoMoreItemsThanFrames) {
  promise<void> open[3];
  int begun = 0;
  auto two = pipeline_of<int>({.in_flight = 2, .waiting = 1, .when_full = overflow::reject},
                              counted_frames())
                 .stage("hold", [&](frame&, int&) { return open[begun++].get_future(); })
                 .last("number", [](frame&, int& in) { return in; });
  auto first = two.push(1);
  auto second = two.push(2);
  auto third = two.push(3);
  auto refused = two.push(4).get_result();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::mailbox_full);
  EXPECT_EQ(begun, 2);
  // The second one ends first; its result and its frame wait for the first one's.
  open[1].set_value();
  EXPECT_FALSE(second.ready());
  EXPECT_EQ(begun, 2);
  open[0].set_value();
  EXPECT_EQ(first.get(), 1);
  EXPECT_EQ(second.get(), 2);
  EXPECT_EQ(begun, 3);
  open[2].set_value();
  EXPECT_EQ(third.get(), 3);
}

TEST(Pipeline, DropsTheOldestThatWaits) {
  promise<void> open;
  bool is_first = true;
  auto one =
      pipeline_of<int>({.in_flight = 1, .waiting = 1, .when_full = overflow::drop_oldest},
                       counted_frames())
          .stage("hold",
                 [&](frame&) {
                   return std::exchange(is_first, false) ? open.get_future() : make_ready_future();
                 })
          .last("number", [](frame&, int& in) { return in; });
  auto runs = one.push(1);
  auto oldest = one.push(2);
  auto newest = one.push(3);
  EXPECT_EQ(oldest.get_result().error().code, errc::mailbox_full);
  open.set_value();
  EXPECT_EQ(runs.get(), 1);
  EXPECT_EQ(newest.get(), 3);
}

TEST(Pipeline, AFailureNamesItsStageAndCostsItsItemAlone) {
  auto some = pipeline_of<int>({}, counted_frames())
                  .stage("odd",
                         [](frame&, int& in) -> future<void> {
                           if (in % 2 == 0) return make_ready_future();
                           return make_failed_future<void>(
                               {.code = errc::device_fault, .message = "a kernel faulted"});
                         })
                  .last("number", [](frame&, int& in) { return in; });
  auto odd = some.push(1).get_result();
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().code, errc::device_fault);
  EXPECT_EQ(odd.error().message, "stage odd: a kernel faulted");
  EXPECT_EQ(some.push(2).get(), 2);
}

TEST(Pipeline, CloseDrainsAndRefusesLaterItems) {
  promise<void> open;
  auto one =
      pipeline_of<int>({.in_flight = 1, .waiting = 4}, counted_frames())
          .stage("hold",
                 [&](frame&, int& in) { return in == 1 ? open.get_future() : make_ready_future(); })
          .last("number", [](frame&, int& in) { return in; });
  auto first = one.push(1);
  auto second = one.push(2);
  auto ended = one.close();
  EXPECT_FALSE(ended.ready());
  EXPECT_EQ(one.push(3).get_result().error().code, errc::cancelled);
  open.set_value();
  EXPECT_EQ(first.get(), 1);
  EXPECT_EQ(second.get(), 2);
  ended.get();
}

TEST(Pipeline, ThatIsDestroyedWaitsForWhatHasBegun) {
  promise<void> open;
  future<int> begun;
  future<int> waits;
  std::atomic<bool> gone{false};
  std::thread other;
  {
    auto one = pipeline_of<int>({.in_flight = 1, .waiting = 1}, counted_frames())
                   .stage("hold", [&](frame&) { return open.get_future(); })
                   .last("number", [](frame&, int& in) { return in; });
    begun = one.push(1);
    waits = one.push(2);
    other = std::thread([&] {
      std::this_thread::sleep_for(20ms);
      EXPECT_FALSE(gone);
      open.set_value();
    });
  }
  gone = true;
  other.join();
  EXPECT_EQ(begun.get(), 1);
  EXPECT_EQ(waits.get_result().error().code, errc::cancelled);
}

TEST(Pipeline, RefusesNumbersThatMakeNoSense) {
  EXPECT_THROW((void)pipeline_of<int>({.in_flight = 0}, counted_frames()), failure);
  EXPECT_THROW(
      (void)pipeline_of<int>({}, counted_frames()).stage("none", [](frame&) {}, 0), failure);
}

}  // namespace
}  // namespace troupe
