// Who is refused, and when batches begin; see served.hpp.
#include "served.hpp"

#include <troupe/base/error.hpp>

#include <limits>
#include <numeric>
#include <random>

namespace troupe::serving {
namespace {

// Twice and ten times as many as the device can do, each with a deadline: it stays as busy as at
// its peak with items that are answered in time, and nearly all others are refused at once.
TEST(Admission, KeepsBatchesFullUnderOverloadWhereSomeTakeLong) {
  served s({.most_items = 32, .queue = {.device_time = 10s}});
  std::minstd_rand random(1);
  s.time_of = [&](std::int64_t cost) {
    return (20ms + cost * 2ms) * (random() % 10 == 0 ? 2500U : 850U) / 1000;
  };
  // Twice as many as can be answered.
  for (const time_point until = s.now + 20s; s.now < until;) {
    s.ask({.deadline = s.now + 1s});
    s.advance(100us + random() % 2400 * 1us);
  }
  s.advance(1s);
  const queue_facts f = s.queue.facts();
  const auto batches = std::accumulate(f.closed.begin(), f.closed.end(), std::uint64_t{0});
  EXPECT_GE(f.batch_items_sum, 29 * batches);
}

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
  EXPECT_EQ(packed.ask({.cost = -most}), 0U);
  packed.queue.learn(0, 1s);  // says nothing
  packed.queue.learn(1, 1s);
  for (const std::int64_t cost : {most, -most})
    EXPECT_EQ(packed.queue.check({.cost = cost}, packed.now).reason, refusal::cost);
  EXPECT_EQ(packed.ask({.deadline = time_point::min()}), 0U);
  EXPECT_EQ(packed.last_refusal.reason, refusal::deadline);
}

TEST(Admission, HasTimesThatMeanForEver) {
  constexpr nanoseconds for_ever = nanoseconds::max();
  served s({.most_items = 2,
            .delay = for_ever,
            .starve = for_ever,
            .queue = {.device_time = for_ever},
            .run_limit = for_ever,
            .quarantine = for_ever,
            .probation = for_ever});
  const item_id waits = s.ask({});
  s.advance(1s);
  EXPECT_FALSE(s.answered.contains(waits));
  const item_id fills = s.ask({});
  s.advance(1s);
  EXPECT_TRUE(s.answered.contains(waits));
  EXPECT_TRUE(s.answered.contains(fills));
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
