// Sends that cannot block, copy or be taken.

#include "counting_actor.hpp"

#include <troupe/core/router.hpp>
#include <troupe/core/system.hpp>
#include <troupe/core/task.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using namespace counting;
using testing::test_kit;

spawn_options two_places() { return {.mailbox = {.capacity = 2}}; }

TEST(Send, IsReadyAtOnceWhereThereIsRoom) {
  test_kit kit;
  auto c = kit.system().spawn<counter>(two_places());
  EXPECT_TRUE(c.send(add{1}).ready());
}

TEST(Send, IsReadyWhenTheMessageHasItsPlaceAndKeepsTheOrder) {
  for (const overflow when_full : {overflow::wait, overflow::reject}) {
    test_kit kit;
    auto c = kit.system().spawn<counter>(
        spawn_options{.mailbox = {.capacity = 2, .when_full = when_full}});
    kit.run_until_idle();
    std::vector<future<void>> sends;
    for (int i = 0; i < 10; ++i)
      sends.push_back(c.send(add{1}));
    for (std::size_t i = 0; i < 10; ++i)
      EXPECT_EQ(sends[i].ready(), i < 2) << i;
    while (!sends[2].ready())
      ASSERT_TRUE(kit.step());
    EXPECT_FALSE(sends[9].ready());
    kit.run_until_idle();
    for (future<void>& one : sends)
      EXPECT_TRUE(one.get_result());
    EXPECT_EQ(c.ask(total{}).get(), 10);
    EXPECT_EQ(kit.system().dead_letter_count(), 0u);
  }
}

TEST(Send, FailsWhereTheMessageNeverFitsOrTheActorStops) {
  test_kit kit;
  auto none = kit.system().spawn<counter>(spawn_options{.mailbox = {.capacity = 0}});
  EXPECT_EQ(none.send(add{1}).get_result().error().code, errc::mailbox_full);
  auto c = kit.system().spawn<counter>(spawn_options{.mailbox = {.capacity = 1}});
  kit.run_until_idle();
  auto in = c.send(add{1});
  auto waits = c.send(add{1});
  EXPECT_FALSE(waits.ready());
  c.stop();
  kit.run_until_idle();
  EXPECT_TRUE(in.get_result());
  EXPECT_EQ(waits.get_result().error().code, errc::actor_stopped);
  EXPECT_EQ(c.send(add{1}).get_result().error().code, errc::actor_stopped);
  EXPECT_EQ(kit.system().dead_letter_count(), 4u);
}

struct sixty_bytes {
  std::int64_t mailbox_bytes() const { return 60; }
};
class talks_to_itself final : public actor {
 public:
  void handle(sixty_bytes) {
    if (handled_++ == 0) again_ = reference(this).send(sixty_bytes{});
  }
  int handle(total) const { return again_.ready() ? handled_ : -1; }

 private:
  int handled_ = 0;
  future<void> again_;
};

TEST(Send, AnActorMaySendToItselfWhereItsMailboxHoldsOneMessage) {
  test_kit kit;
  auto a = kit.system().spawn<talks_to_itself>(spawn_options{.mailbox = {.capacity_bytes = 100}});
  a.tell(sixty_bytes{});
  kit.run_until_idle();
  EXPECT_EQ(a.ask(total{}).get(), 2);
}

struct pour {
  int n;
};
class source final : public actor {
 public:
  explicit source(actor_ref<counter> to) : to_(std::move(to)) {}
  task<int> handle(pour p) {
    for (int i = 0; i < p.n; ++i)
      co_await to_.send(add{1});
    co_return p.n;
  }

 private:
  actor_ref<counter> to_;
};

TEST(Send, SourcesThatAwaitItLoseNothingOnAPoolOfOneThread) {
  constexpr int sources = 4;
  constexpr int each = 2'000;
  troupe::system system({.threads = 1});
  auto c = system.spawn<counter>(two_places());
  std::vector<future<int>> all;
  for (int i = 0; i < sources; ++i)
    all.push_back(system.spawn<source>(c).ask(pour{each}));
  for (future<int>& one : all)
    EXPECT_EQ(one.get(), each);
  EXPECT_EQ(c.ask(total{}).get(), sources * each);
}

struct fragile {
  fragile() = default;
  fragile(const fragile&) { throw std::runtime_error("no copies today"); }
  fragile(fragile&&) noexcept = default;
};
class shelf final : public actor {
 public:
  void handle(const fragile&) {}
  int handle(int n) { return n; }
};

TEST(Tell, ThrowsInTheCallerWhatCopyingTheMessageThrows) {
  test_kit kit;
  auto s = kit.system().spawn<shelf>();
  const fragile vase;
  EXPECT_THROW(s.tell(vase), std::runtime_error);
  EXPECT_THROW((void)s.ask(vase), std::runtime_error);
  EXPECT_TRUE(s.tell(fragile{}));
  kit.run_until_idle();
  EXPECT_EQ(kit.system().actors().at(0).mailbox, 0);
}

TEST(DeadLetters, ASubscriberThatSendsToOneThatHasStoppedIsNotToldOfThat) {
  test_kit kit;
  auto c = kit.system().spawn<counter>();
  c.stop();
  kit.run_until_idle();
  int told = 0;
  kit.system().on_dead_letter([&](const dead_letter& d) {
    ++told;
    EXPECT_EQ(d.path, c.path());
    c.tell(add{1});
  });
  c.tell(add{1});
  c.tell(add{1});
  EXPECT_EQ(told, 2);
  EXPECT_EQ(kit.system().dead_letter_count(), 4u);
}

TEST(DeadLetters, AnEmptySubscriberIsRefused) {
  test_kit kit;
  try {
    kit.system().on_dead_letter({});
    FAIL() << "it was taken";
  } catch (const failure& f) {
    EXPECT_EQ(f.code(), errc::invalid_argument);
  }
}

// Routers -----------------------------------------------------------------------------------------

class Router : public ::testing::Test {
 protected:
  std::vector<int> totals() {
    std::vector<int> all;
    for (const auto& one : replicas_)
      all.push_back(one.stopped() ? -1 : one.ask(total{}).get());
    return all;
  }

  test_kit kit_;
  std::vector<actor_ref<counter>> replicas_{kit_.system().spawn<counter>(),
                                            kit_.system().spawn<counter>(),
                                            kit_.system().spawn<counter>()};
};

TEST_F(Router, TakesReplicasInTurnAndCopiesShareTheTurn) {
  const router<counter> one(replicas_);
  const router<counter> other = one;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(one.tell(add{1}));
    EXPECT_TRUE(other.tell(add{10}));
  }
  EXPECT_EQ(totals(), (std::vector<int>{11, 11, 11}));
  EXPECT_EQ(one.ask(total{}, {.timeout = std::chrono::seconds(1)}).get(), 11);
  EXPECT_TRUE(one.send(add{1}).ready());
}

TEST_F(Router, PassesOverThoseThatHaveStoppedWhileAnyHasNot) {
  const router<counter> all(replicas_);
  replicas_[1].stop();
  kit_.run_until_idle();
  for (int i = 0; i < 4; ++i)
    EXPECT_TRUE(all.tell(add{1}));
  kit_.run_until_idle();
  const auto got = totals();
  EXPECT_EQ(got[0] + got[2], 4);
  for (const auto& one : replicas_)
    one.stop();
  kit_.run_until_idle();
  EXPECT_FALSE(all.tell(add{1}));
  EXPECT_EQ(all.ask(total{}).get_result().error().code, errc::actor_stopped);
}

TEST_F(Router, TheLeastLoadedGetsTheMessage) {
  const router<counter> all(replicas_, routing::least_loaded);
  kit_.run_until_idle();
  replicas_[0].tell(add{0});
  replicas_[0].tell(add{0});
  promise<int> gate;
  auto pending = replicas_[1].ask(delayed{gate.get_future()});
  kit_.run_until_idle();
  EXPECT_EQ(replicas_[1].load(), 1);
  replicas_[0].tell(add{0});
  EXPECT_EQ(replicas_[0].load(), 1);
  EXPECT_TRUE(all.tell(add{5}));
  kit_.run_until_idle();
  EXPECT_EQ(totals(), (std::vector<int>{0, 0, 5}));
  gate.set_value(1);
  EXPECT_EQ(pending.get(), 1);
}

TEST_F(Router, TheOneWithTheLeastEstimatedWorkGetsTheMessage) {
  const router<counter> all(replicas_, routing::least_work);
  kit_.run_until_idle();
  const auto taken = [&] {
    EXPECT_TRUE(all.tell(add{1}));
    kit_.run_until_idle();
    const auto now = totals();
    const auto place = std::ranges::find(now, 1) - now.begin();
    replicas_[static_cast<std::size_t>(place)].tell(add{-1});
    kit_.run_until_idle();
    return static_cast<int>(place);
  };
  std::array<promise<int>, 4> gates;
  const auto ask = [&](std::size_t gate, std::int64_t amount, const ask_options& options = {}) {
    auto answer = all.ask(delayed{gates[gate].get_future()}, work_estimate{amount}, options);
    kit_.run_until_idle();
    return answer;
  };
  // One for each; the message of the third is the smallest.
  auto first = ask(0, 50);
  auto second = ask(1, 40);
  auto third = ask(2, 30);
  const int of_third = taken();
  auto fourth = ask(3, 15);  // on the third, which has 45 then
  const int of_second = taken();
  EXPECT_NE(of_second, of_third);
  // Each end gives the work back: an answer, a failure, a dropped future.
  gates[3].set_value(1);
  kit_.run_until_idle();
  EXPECT_EQ(fourth.get(), 1);
  EXPECT_EQ(taken(), of_third);
  gates[2].set_error({.code = errc::numerical});
  kit_.run_until_idle();
  EXPECT_EQ(third.get_result().error().code, errc::numerical);
  (void)std::exchange(second, future<int>());
  gates[1].set_value(1);
  kit_.run_until_idle();
  // Both have nothing now, so they take turns.
  std::set<int> both{taken(), taken(), taken(), taken()};
  EXPECT_EQ(both, (std::set<int>{of_second, of_third}));
  const int of_first = 3 - of_second - of_third;
  replicas_[static_cast<std::size_t>(of_second)].stop();
  replicas_[static_cast<std::size_t>(of_third)].stop();
  kit_.run_until_idle();
  EXPECT_TRUE(all.tell(add{1}));
  kit_.run_until_idle();
  EXPECT_EQ(replicas_[static_cast<std::size_t>(of_first)].ask(total{}).get(), 1);
  gates[0] = promise<int>();
  kit_.run_until_idle();
  EXPECT_FALSE(first.get_result()) << "nothing can answer any more";
}

TEST_F(Router, NeedsAReplica) {
  EXPECT_THROW(router<counter>(std::vector<actor_ref<counter>>{}), failure);
}

}  // namespace
}  // namespace troupe
