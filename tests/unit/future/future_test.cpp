#include <troupe/core/future.hpp>
#include <troupe/core/future_combine.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;

TEST(Future, ThatIsUsedUpSaysSo) {
  auto f = make_ready_future(7);
  EXPECT_EQ(f.get(), 7);
  const auto refused = [](auto&& use) {
    try {
      use();
    } catch (const failure& why) {
      return why.code();
    }
    return errc{};
  };
  EXPECT_EQ(refused([&] { (void)f.get(); }), errc::invalid_argument);
  EXPECT_EQ(refused([&] { (void)f.ready(); }), errc::invalid_argument);
  EXPECT_EQ(refused([&] { f.wait(); }), errc::invalid_argument);
  EXPECT_EQ(refused([&] { (void)f.wait_for(1ms); }), errc::invalid_argument);
  EXPECT_EQ(refused([&] { (void)f.then([](int) {}); }), errc::invalid_argument);
  EXPECT_EQ(refused([&] { (void)f.timeout(1ms); }), errc::invalid_argument);
  EXPECT_EQ(f.get_result().error().code, errc::invalid_argument);
  EXPECT_EQ(f.try_get().error().code, errc::invalid_argument);
  future<void> never;
  EXPECT_EQ(never.get_result().error().code, errc::invalid_argument);
  EXPECT_FALSE(never.valid());
}

TEST(Future, HandsOverTheValueOnce) {
  promise<std::unique_ptr<int>> source;
  auto f = source.get_future();
  EXPECT_FALSE(f.ready());
  source.set_value(std::make_unique<int>(7));
  source.set_value(nullptr);
  EXPECT_EQ(*f.get(), 7);
  EXPECT_FALSE(f.valid());
}

TEST(Future, ThrowsTheErrorAtGet) {
  auto f = make_failed_future<int>(error{.code = errc::stale_buffer});
  try {
    (void)f.get();
    FAIL() << "get() of a failed future returned";
  } catch (const failure& e) {
    EXPECT_EQ(e.code(), errc::stale_buffer);
  }
}

TEST(Future, GetsNoReplyWhenThePromiseIsDropped) {
  future<void> f;
  {
    promise<void> source;
    f = source.get_future();
  }
  EXPECT_EQ(f.get_result().error().code, errc::no_reply);
}

TEST(Future, TryGetLeavesAnUnfinishedFutureUsable) {
  promise<int> source;
  auto f = source.get_future();
  EXPECT_EQ(f.try_get().error().code, errc::timed_out);
  source.set_value(3);
  EXPECT_EQ(*f.try_get(), 3);
}

TEST(Future, WaitForGivesUpWithoutUsingTheFutureUp) {
  promise<int> source;
  auto f = source.get_future();
  EXPECT_FALSE(f.wait_for(1ms));
  source.set_value(1);
  EXPECT_TRUE(f.wait_for(0ns));
  EXPECT_EQ(f.get(), 1);
}

TEST(Future, WakesAParkedWaiter) {
  for (int i = 0; i < 20; ++i) {
    promise<int> source;
    auto f = source.get_future();
    std::atomic<bool> entered{false};
    std::thread waiter([&] {
      entered = true;
      f.wait();  // the test below completes after the spin budget on most runs
    });
    while (!entered)
      std::this_thread::yield();
    if (i % 2 == 0) (void)make_failed_future<int>({}).wait_for(1ms);
    source.set_value(i);
    waiter.join();
    EXPECT_EQ(f.get(), i);
  }
}

TEST(Future, ThenMapsValuesAndSkipsErrors) {
  EXPECT_EQ(make_ready_future(20).then([](int v) { return v + 1; }).get(), 21);
  bool called = false;
  auto skipped =
      make_failed_future<int>(error{.code = errc::aliasing}).then([&](int) { called = true; });
  EXPECT_EQ(skipped.get_result().error().code, errc::aliasing);
  EXPECT_FALSE(called);
  auto seen = make_failed_future<int>(error{.code = errc::aliasing}).then([](result<int> r) {
    return r.error().code;
  });
  EXPECT_EQ(seen.get(), errc::aliasing);
}

TEST(Future, ThenFlattensResultsAndFutures) {
  future<int> a = make_ready_future().then([]() -> result<int> { return 4; });
  future<int> b = std::move(a).then([](int v) { return make_ready_future(v * 2); });
  EXPECT_EQ(b.get(), 8);
  future<int> c =
      make_ready_future().then([]() -> result<int> { return error{.code = errc::numerical}; });
  EXPECT_EQ(c.get_result().error().code, errc::numerical);
}

TEST(Future, ThenTurnsAnExceptionIntoHandlerFailedWithItsText) {
  auto f = make_ready_future(1).then([](int) -> int { throw std::runtime_error("broken"); });
  const auto r = f.get_result();
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, errc::handler_failed);
  EXPECT_EQ(r.error().message, "broken");
}

TEST(Future, ThenTurnsAnExceptionIntoAnErrorAlsoWhereAFutureWouldBeReturned) {
  promise<int> source;
  auto later = source.get_future().then(
      [](int) -> future<int> { throw failure(error{.code = errc::numerical}); });
  source.set_value(1);
  EXPECT_EQ(later.get_result().error().code, errc::numerical);
}

TEST(Future, TimeoutNamesThePatienceAndLeavesTheWorkAlone) {
  promise<int> source;
  auto f = source.get_future().timeout(5ms);
  const auto r = f.get_result();
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, errc::timed_out);
  EXPECT_EQ(r.error().message, "no reply within 5 ms");
  source.set_value(1);
}

TEST(Future, TimeoutPassesAReplyInTime) {
  promise<std::string> source;
  auto f = source.get_future().timeout(1h);
  source.set_value("in time");
  EXPECT_EQ(f.get(), "in time");
}

class counting_driver final : public completion_driver {
 public:
  explicit counting_driver(promise<int>& p) : source(p) {}
  void drive_until(const future_state_base&,
                   std::chrono::steady_clock::time_point) noexcept override {
    if (++calls == 3) source.set_value(9);
  }
  void retain() noexcept override { ++references; }
  void release() noexcept override { --references; }
  promise<int>& source;
  int calls = 0;
  int references = 0;
};

TEST(CompletionDriver, IsCalledByTheWaitingThreadUntilTheFutureIsReady) {
  promise<int> source;
  counting_driver driver(source);
  source = promise<int>(&driver);
  auto f = source.get_future();
  EXPECT_EQ(f.get(), 9);
  EXPECT_EQ(driver.calls, 3);
  EXPECT_EQ(driver.references, 0);
}

TEST(CompletionDriver, IsInheritedByDerivedFutures) {
  promise<int> source;
  counting_driver driver(source);
  source = promise<int>(&driver);
  auto f = source.get_future().then([](int v) { return v + 1; }).timeout(1h);
  EXPECT_EQ(f.get(), 10);
  EXPECT_EQ(driver.references, 0);
}

// Each value is a plain one of its thread's.
TEST(Future, WhenAllHasEveryValueAndWhenAnyOneWhicheverThreadIsLast) {
  constexpr int rounds = 2'000;
  constexpr std::size_t threads = 3;
  std::array<std::vector<promise<int>>, threads> mine;
  std::vector<future<std::vector<int>>> all;
  std::vector<future<first_of<int>>> any;
  for (int round = 0; round < rounds; ++round) {
    std::vector<future<int>> ask_all;
    std::vector<future<int>> ask_any;
    for (auto& promises : mine) {
      ask_all.push_back(promises.emplace_back().get_future());
      ask_any.push_back(promises.emplace_back().get_future());
    }
    all.push_back(when_all(std::move(ask_all)));
    any.push_back(when_any(std::move(ask_any)));
  }
  {
    std::vector<std::jthread> completers;
    completers.reserve(threads);
    for (std::size_t t = 0; t < threads; ++t) {
      completers.emplace_back([&, t] {
        for (auto& one : mine[t])
          one.set_value(static_cast<int>(t));
      });
    }
    for (int round = 0; round < rounds; ++round) {
      const auto place = static_cast<std::size_t>(round);
      EXPECT_EQ(all[place].get(), (std::vector<int>{0, 1, 2}));
      const first_of<int> first = any[place].get();
      EXPECT_EQ(first.value, static_cast<int>(first.index));
    }
  }
}

TEST(Future, SurvivesARaceOfCompletionAgainstWaitingAndLettingGo) {
  constexpr int rounds = 20'000;
  std::atomic<promise<int>*> slot{nullptr};
  std::thread completer([&] {
    for (int i = 0; i < rounds; ++i) {
      promise<int>* p = nullptr;
      while ((p = slot.exchange(nullptr)) == nullptr)
        std::this_thread::yield();
      p->set_value(i);
      delete p;
    }
  });
  for (int i = 0; i < rounds; ++i) {
    auto* p = new promise<int>;
    auto f = p->get_future();
    slot = p;
    if (i % 4 == 0) {
      f = {};
      while (slot.load() != nullptr)
        std::this_thread::yield();
    } else if (i % 4 == 1) {
      EXPECT_EQ(f.then([](int v) { return v + 1; }).get(), i + 1);
    } else {
      EXPECT_EQ(f.get(), i);
    }
  }
  completer.join();
}

}  // namespace
}  // namespace troupe
