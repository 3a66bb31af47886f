// The policies of a batch queue, each by itself, before a device of which a batch takes 1 ms and
// 100 us for each unit of cost. The clock is virtual.
#include <troupe/base/error.hpp>
#include <troupe/serving/batch_queue.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <vector>

namespace troupe::serving {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr nanoseconds usual_time(std::int64_t cost) { return 1ms + cost * 100us; }

/// A queue, a device that runs one batch after the other, and their time.
class served {
 public:
  explicit served(batch_config config) : queue(std::move(config)) {}

  /// Zero if the item was refused.
  item_id ask(item_terms terms) {
    const admission verdict = queue.admit(terms, now);
    if (verdict) {
      items[verdict.item] = {terms, now};
    } else {
      last_refusal = verdict;
    }
    settle();
    return verdict.item;
  }
  void advance(nanoseconds by) {
    for (const time_point until = now + by;;) {
      time_point next = queue.wake_at();
      for (const auto& [ends, plan] : running)
        next = std::min(next, ends);
      if (next > until) {
        now = until;
        return;
      }
      now = std::max(now, next);
      if (!running.empty() && running.front().first <= now) {
        const batch_plan plan = running.front().second;
        running.erase(running.begin());
        finish(plan);
      }
      settle();
    }
  }
  [[nodiscard]] double device_seconds(std::uint64_t tenant) const {
    for (const auto& [id, seconds] : queue.facts().device_seconds)
      if (id == tenant) return seconds;
    return 0;
  }

  struct asked {
    item_terms terms;
    time_point at;
  };
  batch_queue queue;
  time_point now{1h};
  time_point device_free{};
  std::vector<std::pair<time_point, batch_plan>> running;
  std::vector<batch_plan> begun;
  std::map<item_id, asked> items;
  std::map<item_id, item_ending> ended;
  std::map<item_id, nanoseconds> answered;
  admission last_refusal;
  /// How a batch ends.
  std::function<run_end(const batch_plan&)> how = [](const batch_plan&) {
    return run_end::answered;
  };
  nanoseconds failover{0};
  std::function<nanoseconds(std::int64_t)> time_of = usual_time;

 private:
  void finish(const batch_plan& plan) {
    const run_end end = how(plan);
    if (end == run_end::fault) {
      now += failover;
      device_free += failover;
    }
    const item_terms& first = items.at(plan.items.front()).terms;
    queue.finish(plan.id, now, end,
                 first.fingerprint != 0 ? first.fingerprint : plan.items.front());
    if (end != run_end::answered) return;
    for (const item_id one : plan.items)
      answered[one] = now - items.at(one).at;
  }
  void settle() {
    while (const auto plan = queue.next(now)) {
      for (const item_id one : plan->items)
        ASSERT_GT(items.at(one).terms.deadline, now) << "launched what has expired";
      begun.push_back(*plan);
      device_free = std::max(device_free, now) + time_of(plan->cost);
      running.emplace_back(device_free, *plan);
    }
    for (const item_end& one : queue.take_ended())
      ended[one.item] = one.how;
  }
};

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

// Twice and ten times as many as the device can do, each with a deadline: it stays as busy as at
// its peak with items that are answered in time, and nearly all others are refused at once.
TEST(Admission, KeepsGoodputUnderOverload) {
  struct load {
    nanoseconds of_batch, of_cost, deadline;
  };
  for (const load& l : {load{1ms, 100us, 50ms}, load{20ms, 2ms, 500ms}, load{20ms, 2ms, 300ms},
                        load{100us, 1ms, 100ms}}) {
    const auto goodput = [&](double times) {
      served s({.most_items = 32, .queue = {.device_time = 10s}});
      std::minstd_rand random(1);
      s.time_of = [&](std::int64_t cost) {
        return (l.of_batch + cost * l.of_cost) * (950 + random() % 101) / 1000;
      };
      const double gap = static_cast<double>((l.of_batch + 32 * l.of_cost).count()) / 32 / times;
      std::int64_t late = 0;
      for (const time_point until = s.now + 8s; s.now < until;) {
        s.ask({.deadline = s.now + l.deadline});
        s.advance(nanoseconds(static_cast<std::int64_t>(gap)));
      }
      s.advance(1s);
      for (const auto& [item, took] : s.answered)
        late += took > l.deadline ? 1 : 0;
      const queue_facts f = s.queue.facts();
      // In the last row the deadline is that of three batches, of which two are in flight.
      EXPECT_LE(f.expired, f.answered / (l.deadline == 100ms ? 6 : 10)) << "accepted, not answered";
      EXPECT_LE(late, f.answered / 100) << "answered too late";
      return static_cast<double>(s.answered.size() - static_cast<std::size_t>(late)) * gap * times;
    };
    const double peak = 8e9;
    for (const double times : {0.95, 2.0, 10.0})
      EXPECT_GT(goodput(times), (times < 1 ? 0.9 : 0.95) * peak)
          << times << " times, " << l.of_batch.count() << " ns + " << l.of_cost.count() << " ns";
  }
}

// Those in a hurry are answered although many others wait, whose deadlines are late.
TEST(Admission, ServesTheUrgentBesideThePatient) {
  served s({.most_items = 32, .queue = {.device_time = 10s}});
  s.time_of = [](std::int64_t cost) { return 20ms + cost * 2ms; };
  s.queue.learn(1, 22ms);
  s.queue.learn(32, 84ms);
  std::int64_t urgent = 0;
  for (int i = 0; i < 2'000; ++i) {
    for (int j = 0; j < 3; ++j)
      s.ask({.deadline = s.now + 5s});
    if (i % 50 == 0) urgent += s.ask({.deadline = s.now + 250ms}) != 0 ? 1 : 0;
    s.advance(10ms);
  }
  std::int64_t answered = 0;
  for (const auto& [item, took] : s.answered)
    answered += s.items.at(item).terms.deadline - s.items.at(item).at == 250ms ? 1 : 0;
  EXPECT_GT(urgent, 30);
  EXPECT_GE(answered, urgent - 2);
}

TEST(Admission, RefusesTermsOutOfRange) {
  served s({.padded = {16, 32}});
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const item_terms& bad : {item_terms{.cost = 33}, item_terms{.cost = most},
                                item_terms{.bytes = -1}, item_terms{.bytes = most}}) {
    EXPECT_EQ(s.ask(bad), 0U);
    EXPECT_EQ(s.last_refusal.reason, refusal::cost);
  }
  EXPECT_EQ(s.ask({.deadline = s.now}), 0U);
  EXPECT_EQ(s.last_refusal.reason, refusal::deadline);
  served packed({});
  EXPECT_EQ(packed.ask({.cost = most}), 0U);
  EXPECT_EQ(packed.ask({.cost = 0}), 0U);
}

TEST(Admission, RecoversFromAPredictionThatWasFarTooLong) {
  served s({});
  s.queue.learn(1, 100s);
  s.queue.learn(2, 200s);
  int answered = 0;
  for (int i = 0; i < 2'000; ++i) {
    s.ask({.deadline = s.now + 100ms});
    s.advance(10ms);
  }
  answered = static_cast<int>(s.answered.size());
  EXPECT_GT(answered, 1'000);
}

TEST(Prediction, IsNearAfterTenBatches) {
  prediction p;
  for (std::int64_t i = 1; i <= 10; ++i)
    p.add(i * 3 % 7 + 1, usual_time(i * 3 % 7 + 1));
  EXPECT_NEAR(static_cast<double>(p.of(50).count()), 6e6, 1e3);
  EXPECT_LT(p.error_ratio(), 0.4);
}

TEST(Batches, ClosePreferredSizesWhenWaitingCostsMoreThanItGains) {
  served s({.most_items = 32, .delay = 1s, .preferred = {4, 16}});
  s.queue.learn(1, usual_time(1));
  s.queue.learn(8, usual_time(8));
  for (int i = 0; i < 20; ++i) {
    s.ask({});
    s.advance(5ms);  // rare: a batch that others could join would save 1 ms
  }
  ASSERT_FALSE(s.begun.empty());
  EXPECT_EQ(s.begun.front().closed_by, closing::preferred);
  EXPECT_EQ(s.begun.front().items.size(), 4U);
}

TEST(Batches, BeginBeforeADeadlineThatTheDelayWouldMiss) {
  served s({.delay = 1s});
  s.queue.learn(1, usual_time(1));
  const item_id one = s.ask({.deadline = s.now + 20ms});
  s.advance(20ms);
  EXPECT_TRUE(s.answered.contains(one));
}

TEST(Batches, HaveALimitThatCountsThoseBeforeThem) {
  served s({.most_items = 1, .in_flight = 2});
  for (int i = 0; i < 40; ++i)
    s.ask({.cost = 1 + i % 5});
  s.advance(1s);
  const batch_plan& last = s.begun.back();
  EXPECT_GE(last.run_limit, 50ms);
  EXPECT_LE(last.run_limit, 101ms);
}

TEST(Batches, OfBadConfigurationsAreRefused) {
  EXPECT_THROW(batch_queue({.most_items = 0}), failure);
  EXPECT_THROW(batch_queue({.preferred = {64}}), failure);
  EXPECT_THROW(batch_queue({.padded = {8, 4}}), failure);
  EXPECT_THROW(batch_queue({.delay = -1ms}), failure);
}

}  // namespace
}  // namespace troupe::serving
