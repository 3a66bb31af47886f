// The policies of a batch queue, each by itself, before a device of which a batch takes 1 ms and
// 100 us for each unit of cost. The clock is virtual.
#include "served.hpp"

namespace troupe::serving {
namespace {

nanoseconds percentile(std::vector<nanoseconds> all, double p) {
  std::ranges::sort(all);
  return all[static_cast<std::size_t>(p * static_cast<double>(all.size() - 1))];
}

TEST(Pieces, AreChosenByTheirCost) {
  // 5 ms however many items: 84 ms by 6 pieces twice, 172 by singles, 110 by halves.
  EXPECT_EQ(pieces_for(32, 12ms, 0.005, 0), 6);
  EXPECT_EQ(pieces_for(32, 620ms, 0.005, 0), 32) << "a fault is dearer than all singles";
  EXPECT_EQ(pieces_for(32, 12ms, 0, 0.001), 32) << "singles are less work, too";
  EXPECT_EQ(pieces_for(2, 12ms, 0.005, 0), 2);
}

TEST(Poison, CostsOnlyItself) {
  for (const std::int64_t n : {1, 2, 31, 32, 33}) {
    for (const std::int64_t first : {std::int64_t{0}, n / 2, n - 1}) {
      for (const run_end kind : {run_end::fault, run_end::exception}) {
        served s({.most_items = 64, .delay = 1ms});
        s.failover = 12ms;
        std::vector<item_id> all;
        for (std::int64_t i = 0; i < n; ++i)
          all.push_back(s.ask({}));
        const item_id bad = all[static_cast<std::size_t>(first)];
        s.how = [&](const batch_plan& plan) {
          return std::ranges::count(plan.items, bad) > 0 ? kind : run_end::answered;
        };
        s.advance(1s);
        EXPECT_EQ(s.answered.size(), static_cast<std::size_t>(n - 1));
        EXPECT_EQ(s.ended.size(), 1U);
        EXPECT_EQ(s.ended.at(bad), item_ending::culprit);
        EXPECT_EQ(s.queue.facts().quarantined, kind == run_end::fault || n > 1 ? 1 : 0);
        EXPECT_EQ(s.queue.facts().held_items, 0);
      }
    }
  }
}

TEST(Poison, OfAllItemsIsTheFunctionsFault) {
  served s({.delay = 1ms});
  s.how = [](const batch_plan&) { return run_end::exception; };
  for (int i = 0; i < 8; ++i)
    s.ask({});
  s.advance(1s);
  EXPECT_EQ(s.queue.facts().culprits, 8U);
  EXPECT_EQ(s.queue.facts().quarantined, 0);
}

TEST(Poison, ThatDoesNotShowAgainIsIrreproducible) {
  served s({.delay = 1ms});
  s.how = [&](const batch_plan& p) {
    return p.closed_by == closing::isolation ? run_end::answered : run_end::fault;
  };
  for (int i = 0; i < 8; ++i)
    s.ask({});
  s.advance(1s);
  EXPECT_EQ(s.answered.size(), 8U);
  EXPECT_EQ(s.queue.facts().irreproducible, 1U);
  EXPECT_EQ(s.queue.facts().quarantined, 0);
}

TEST(Poison, ThatLosesItsBatchAgainAndAgainIsFoundInPieces) {
  served s({.delay = 1ms});
  const item_id bad = s.ask({});
  s.how = [&](const batch_plan& p) {
    return std::ranges::count(p.items, bad) > 0 ? run_end::aborted : run_end::answered;
  };
  for (int i = 0; i < 7; ++i)
    s.ask({});
  s.advance(1s);
  EXPECT_EQ(s.answered.size(), 7U);
  EXPECT_EQ(s.ended.at(bad), item_ending::failed);
  const auto whole =
      std::ranges::count_if(s.begun, [](const batch_plan& p) { return p.items.size() == 8; });
  EXPECT_EQ(whole, 3);
  EXPECT_EQ(s.queue.facts().quarantined, 0);
}

TEST(Poison, LeavesNoTimeForThoseThatCannotWait) {
  served s({.delay = 1ms});
  s.failover = 50ms;
  s.how = [](const batch_plan& p) {
    return p.closed_by == closing::isolation ? run_end::answered : run_end::fault;
  };
  const item_id soon = s.ask({.deadline = s.now + 20ms});
  const item_id later = s.ask({});
  s.advance(1s);
  EXPECT_EQ(s.ended.at(soon), item_ending::expired);
  EXPECT_TRUE(s.answered.contains(later));
}

TEST(Poison, IsRefusedTwiceAsLongEachTimeUntilItIsForgiven) {
  served s({});
  s.how = [](const batch_plan&) { return run_end::fault; };
  constexpr std::uint64_t mark = 99;
  for (const nanoseconds term : {1min, 2min, 4min}) {
    const item_id bad = s.ask({.fingerprint = mark});
    s.advance(2ms);
    EXPECT_EQ(s.ended.at(bad), item_ending::culprit);
    s.advance(term - 2ms);
    EXPECT_EQ(s.ask({.fingerprint = mark}), 0U);
    EXPECT_EQ(s.last_refusal.reason, refusal::quarantine);
    s.advance(s.last_refusal.retry_after);
  }
  s.ask({.fingerprint = mark});
  s.advance(2ms);
  ASSERT_EQ(s.queue.quarantine(s.now).size(), 1U);
  EXPECT_EQ(s.queue.quarantine(s.now).front().offences, 4);
  EXPECT_TRUE(s.queue.forgive(mark));
  EXPECT_NE(s.ask({.fingerprint = mark}), 0U);
}

TEST(Poison, IsPaidByItsTenant) {
  served s({.delay = 1ms});
  s.failover = 100ms;
  std::vector<item_id> all;
  for (int i = 0; i < 8; ++i)
    all.push_back(s.ask({.tenant = i == 3 ? 2U : 1U}));
  s.how = [&](const batch_plan& p) {
    return std::ranges::count(p.items, all[3]) > 0 ? run_end::fault : run_end::answered;
  };
  s.advance(2s);
  EXPECT_EQ(s.answered.size(), 7U);
  EXPECT_GT(s.device_seconds(2), 0.2) << "two failovers";
  EXPECT_LT(s.device_seconds(1), 0.02);
}

TEST(Tenants, ShareDeviceTimeByTheirWeights) {
  served s({.most_items = 8, .most_cost = 64, .queue = {.device_time = 10s}});
  s.queue.tenants({.weights = {{1, 1.0}, {2, 3.0}}});
  // The first sends ten times as many, each eight times as long; both more than their share.
  for (int i = 0; i < 10'000; ++i) {
    for (int j = 0; j < 2; ++j)
      s.ask({.cost = 8, .tenant = 1});
    s.ask({.cost = 8, .tenant = 2});
    s.advance(1ms);
  }
  const double one = s.device_seconds(1);
  const double three = s.device_seconds(2);
  EXPECT_GT(one + three, 9.0);
  EXPECT_NEAR(three / (one + three), 0.75, 0.05);
}

TEST(Tenants, ThatAreLightHardlyWaitForOneThatIsNot) {
  const auto light_p99 = [](bool other) {
    served s({.most_items = 8, .most_cost = 64});
    s.ask({.tenant = 1});
    std::vector<item_id> mine;
    for (int i = 0; i < 5'000; ++i) {
      for (int j = 0; other && j < 3; ++j)
        s.ask({.cost = 8, .tenant = 1});
      if (i % 20 == 0) mine.push_back(s.ask({.tenant = 2}));
      s.advance(1ms);
    }
    EXPECT_EQ(std::ranges::count(mine, 0U), 0) << "refused at the door";
    s.advance(3s);
    std::vector<nanoseconds> times;
    for (const item_id one : mine)
      times.push_back(s.answered.at(one));
    return percentile(times, 0.99);
  };
  // A batch of the other's is running, and one waits behind it: 2 of 7.4 ms.
  EXPECT_LT(light_p99(true), light_p99(false) + 2 * usual_time(64) + 8ms);
}

TEST(Tenants, ThatWereIdleHaveSavedNothing) {
  served s({.most_items = 8, .queue = {.device_time = 1h}});
  const auto both_wait = [&](bool second) {
    for (int i = 0; i < 200; ++i) {
      for (int j = 0; j < 16; ++j)
        s.ask({.tenant = 1 + (second ? static_cast<std::uint64_t>(j) % 2 : 0U)});
      s.advance(2ms);
    }
  };
  both_wait(false);
  const double before = s.device_seconds(1);
  both_wait(true);
  EXPECT_NEAR(s.device_seconds(1) - before, s.device_seconds(2), 0.06);
}

TEST(Tenants, AreNotKeptOutByAnothersQueue) {
  served s({.most_items = 8, .queue = {.bytes = 1000, .device_time = 30ms}});
  s.queue.learn(1, usual_time(1));
  s.queue.learn(8, usual_time(8));
  while (s.ask({.tenant = 1}) != 0) {
  }
  EXPECT_EQ(s.last_refusal.reason, refusal::device_time);
  EXPECT_NE(s.ask({.tenant = 2}), 0U);
  s.advance(1s);
  // Bytes are given back to the tenant, too.
  for (int i = 0; i < 20; ++i) {
    EXPECT_NE(s.ask({.bytes = 400, .tenant = 1}), 0U);
    s.advance(10ms);
  }
}

TEST(Tenants, AreLimitedToTheirShareOfTheDevice) {
  served s({.most_items = 8});
  s.queue.tenants({.most_device_share = 0.3});
  std::int64_t refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (s.ask({.cost = 4, .tenant = 1}) == 0) ++refused;
    s.advance(1ms);
  }
  EXPECT_EQ(s.last_refusal.reason, refusal::tenant);
  EXPECT_GT(refused, 0);
  EXPECT_LT(s.device_seconds(1), 0.3 * 20 + 0.3 + 0.1);
  EXPECT_GT(s.device_seconds(1), 0.3 * 20 - 0.5);
}

}  // namespace
}  // namespace troupe::serving
