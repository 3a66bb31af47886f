#include "core/dispatch/deferred_continuations.hpp"

#include <troupe/core/future.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

namespace troupe {
namespace {

// Completions of a thread while it defers continuations, as a device thread does during its work.
class PutOff : public ::testing::Test {
 protected:
  future<void> after(promise<int>& p, int number) {
    return p.get_future().then([this, number](int) { ran_.push_back(number); });
  }

  detail::deferred_continuations& duties_ = detail::deferred_continuations::mine();
  std::vector<int> ran_;
};

TEST_F(PutOff, ContinuationsRunInOrderOnceNothingHoldsThem) {
  promise<int> first;
  promise<int> second;
  auto one = after(first, 1);
  auto other = after(second, 2);
  duties_.hold();
  duties_.hold();
  first.set_value(0);
  second.set_value(0);
  duties_.release();
  EXPECT_TRUE(ran_.empty());
  EXPECT_FALSE(one.ready());
  EXPECT_TRUE(duties_.has_put_off());
  duties_.release();
  EXPECT_EQ(ran_, (std::vector{1, 2}));
  EXPECT_TRUE(one.ready());
  EXPECT_TRUE(other.ready());
  EXPECT_FALSE(duties_.has_put_off());
}

TEST_F(PutOff, OneThatWaitsLetsThoseBehindItRun) {
  promise<int> first;
  promise<int> second;
  promise<int> said;
  auto heard = said.get_future();
  auto one = first.get_future().then([&](int) { ran_.push_back(heard.get()); });
  auto other = second.get_future().then([&](int) {
    ran_.push_back(2);
    said.set_value(1);
  });
  duties_.hold();
  first.set_value(0);
  second.set_value(0);
  duties_.release();
  EXPECT_EQ(ran_, (std::vector{2, 1}));
}

TEST_F(PutOff, OneThatComesToAnAnswerInAContinuationRunsAfterThatOrWhenItWaits) {
  auto outer = make_ready_future(1).then([&](int) {
    auto inner = make_ready_future(2).then([&](int n) { ran_.push_back(n); });
    EXPECT_FALSE(inner.ready());
    auto awaited = make_ready_future(3).then([&](int n) { ran_.push_back(n); });
    awaited.get();
    EXPECT_EQ(ran_, (std::vector{2, 3}));
    (void)make_ready_future(5).then([&](int n) { ran_.push_back(n); });
    ran_.push_back(4);
  });
  EXPECT_TRUE(outer.ready());
  EXPECT_EQ(ran_, (std::vector{2, 3, 4, 5}));
}

// Each finds its own future ready.
TEST_F(PutOff, AChainDoesNotNest) {
  int depth = 0;
  int deepest = 0;
  int left = 100'000;
  std::function<void(int)> next = [&](int) {
    deepest = std::max(deepest, ++depth);
    if (--left > 0) (void)make_ready_future(1).then(next);
    --depth;
  };
  next(0);
  EXPECT_EQ(left, 0);
  EXPECT_LE(deepest, 2);
}

TEST_F(PutOff, AThreadWithItsOwnWayToWaitGoesItUnlessItHoldsContinuationsUp) {
  struct own_way final : detail::wait_strategy {
    explicit own_way(promise<int>& p) : answer(p) {}
    void wait_until(const future_state_base* state,
                    future_state_base::time_point) noexcept override {
      ++times;
      if (state != nullptr) answer.set_value(7);
    }
    promise<int>& answer;
    int times = 0;
  };
  promise<int> p;
  auto f = p.get_future();
  own_way own(p);
  duties_.wait_by(&own);
  duties_.hold();
  EXPECT_FALSE(f.wait_for(std::chrono::milliseconds(1)));
  EXPECT_EQ(own.times, 0);
  duties_.release();
  EXPECT_EQ(f.get(), 7);
  duties_.pause_until(std::chrono::steady_clock::now());
  EXPECT_EQ(own.times, 2);
  duties_.wait_by(nullptr);
}

}  // namespace
}  // namespace troupe
