#include "device/supervision/loss/recovery.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace troupe {
namespace {

struct rule {
  std::string claim;
  loss what;
  std::vector<request_at_loss> requests;
  std::vector<verdict> expected;
};

constexpr bool started = true;
constexpr bool answered = true;
constexpr bool safe = true;

request_at_loss request(std::uint64_t ticket, bool has_started, bool is_safe,
                        bool was_answered = false, int kills = 0) {
  return {.ticket = ticket,
          .started = has_started,
          .answered = was_answered,
          .retry_safe = is_safe,
          .kills = kills};
}

request_at_loss killed(std::uint64_t ticket, int times, std::chrono::nanoseconds within) {
  request_at_loss r = request(ticket, true, true);
  r.outside_kills = times;
  r.killed_for = within;
  return r;
}

request_at_loss called(std::uint64_t ticket, bool was_answered = false, int kills = 0) {
  return {.ticket = ticket, .called = true, .answered = was_answered, .kills = kills};
}

std::vector<rule> rules() {
  using enum verdict;
  const loss crash{};
  const loss outside{.from_outside = true};
  const loss silence{.doubtful = true};
  const auto named = [](std::uint64_t ticket) { return loss{.culprit_ticket = ticket}; };
  return {
      {"nothing in flight, nothing to decide", crash, {}, {}},
      {"what has not begun is run by the next worker, safe or not",
       crash,
       {request(1, !started, safe), request(2, !started, !safe)},
       {replay, replay}},
      {"what was answered and has not begun is forgotten",
       crash,
       {request(1, !started, safe, answered)},
       {forget}},
      {"the only one that ran is the culprit of a worker that ended by itself",
       crash,
       {request(1, !started, safe), request(2, started, safe)},
       {replay, culprit}},
      {"even when its answer was given already",
       crash,
       {request(2, started, safe, answered)},
       {culprit}},
      {"but not of one that was ended from outside",
       outside,
       {request(2, started, safe)},
       {replay}},
      {"ended from outside, what updates in place is lost",
       outside,
       {request(2, started, !safe)},
       {abort}},
      {"of several that ran none can be named",
       crash,
       {request(1, started, safe), request(2, started, !safe), request(3, !started, !safe)},
       {replay, abort, replay}},
      {"unless the worker's report names it",
       named(2),
       {request(1, started, safe), request(2, started, safe), request(3, started, !safe)},
       {replay, culprit, abort}},
      {"a name that is not in flight names nobody",
       named(9),
       {request(1, started, safe), request(2, started, safe)},
       {replay, replay}},
      {"but one that was in flight when it was named is known, though it has completed since",
       loss{.culprit_ticket = 9, .culprit_known = true},
       {request(1, started, safe, !answered, 1), request(2, started, !safe)},
       {replay, abort}},
      {"the second lost worker is the last that an unnamed suspect takes with it",
       crash,
       {request(1, started, safe, !answered, 1), request(2, started, safe)},
       {poisonous, replay}},
      {"once a culprit is named the others are not suspected",
       named(2),
       {request(1, started, safe, !answered, 1), request(2, started, safe)},
       {replay, culprit}},
      {"however often a worker is ended from outside, nobody is suspected for that",
       outside,
       {request(1, started, safe, !answered, 1)},
       {replay}},
      {"but one that ran in the sixteenth worker killed so is not run again",
       outside,
       {request_at_loss{.ticket = 1, .started = true, .retry_safe = true, .outside_kills = 15},
        request_at_loss{.ticket = 2, .started = true, .retry_safe = true, .outside_kills = 14},
        request_at_loss{.ticket = 3, .outside_kills = 15}},
       {too_often, replay, replay}},
      {"nor one that ran in the sixth, once the limit of time is over",
       outside,
       {killed(1, 5, repeat_limit), killed(2, 5, repeat_limit - std::chrono::nanoseconds(1)),
        killed(3, 4, repeat_limit)},
       {too_often, replay, replay}},
      {"one that ran alone as a worker fell silent need not have done it",
       silence,
       {request(1, started, safe)},
       {replay}},
      {"but falling silent twice is suspicious",
       silence,
       {request(1, started, safe, !answered, 1)},
       {poisonous}},
      {"whoever was called is as suspect as who had begun, and runs again as it has not",
       crash,
       {request(1, started, safe), called(2)},
       {replay, replay}},
      {"one that was called and answered is forgotten, and may have been it all the same",
       crash,
       {request(1, started, safe), called(2, answered)},
       {replay, forget}},
      {"called in two lost workers is enough",
       crash,
       {called(1, !answered, 1), called(2)},
       {poisonous, replay}},
      {"what ran and was answered is not run again",
       outside,
       {request(1, started, safe, answered)},
       {abort}},
  };
}

TEST(Judge, FollowsEveryRule) {
  for (const rule& r : rules())
    EXPECT_EQ(judge(r.what, r.requests), r.expected) << r.claim;
}

TEST(Judge, KeepsItsPromisesWhateverWasInFlight) {
  std::mt19937 random(17);
  const auto coin = [&] { return random() % 2 == 0; };
  for (int round = 0; round < 50'000; ++round) {
    std::vector<request_at_loss> requests;
    const auto count = random() % 8;
    requests.reserve(count);
    for (std::uint64_t ticket = 0; ticket < count; ++ticket) {
      requests.push_back(
          request(100 + ticket, coin(), coin(), random() % 4 == 0, static_cast<int>(random() % 2)));
      requests.back().called = random() % 4 == 0;
    }
    loss what{.from_outside = coin(), .doubtful = coin()};
    if (coin()) what.culprit_ticket = 100 + random() % 10;
    const std::vector<verdict> verdicts = judge(what, requests);

    ASSERT_EQ(verdicts.size(), requests.size()) << "one verdict each";
    ASSERT_LE(std::ranges::count(verdicts, verdict::culprit), 1);
    ASSERT_EQ(judge(what, requests), verdicts) << "nothing but the arguments decides";
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const request_at_loss& r = requests[i];
      if (r.started && !r.retry_safe) {
        ASSERT_NE(verdicts[i], verdict::replay);
      }
      if (r.answered) {
        ASSERT_NE(verdicts[i], verdict::replay) << "nobody waits for it";
      }
      if (!r.started && !r.called && r.ticket != what.culprit_ticket) {
        ASSERT_TRUE(verdicts[i] == verdict::replay || verdicts[i] == verdict::forget)
            << "what has not begun cannot be lost";
      }
      if (what.culprit_ticket == r.ticket) {
        ASSERT_EQ(verdicts[i], verdict::culprit);
      }
    }
  }
}

TEST(Judge, NoRequestEndsMoreThanTwoWorkers) {
  // A safe request may run whenever workers are lost, without ever being named.
  std::vector<request_at_loss> requests{request(1, started, safe), request(2, started, safe)};
  int lost = 0;
  while (!requests.empty()) {
    ++lost;
    ASSERT_LE(lost, poisonous_kills);
    const std::vector<verdict> verdicts = judge({}, requests);
    std::vector<request_at_loss> left;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (verdicts[i] != verdict::replay) continue;
      left.push_back(requests[i]);
      ++left.back().kills;
    }
    requests = std::move(left);
  }
  EXPECT_EQ(lost, poisonous_kills);
}

TEST(Loss, IsExplainedWhereSomebodyIsNamedForIt) {
  const auto explained = [](const loss& what, const std::vector<request_at_loss>& requests) {
    return is_explained(what, judge(what, requests));
  };
  EXPECT_FALSE(explained({}, {}));
  EXPECT_FALSE(explained({}, {request(1, started, safe), request(2, started, safe)}));
  EXPECT_FALSE(explained({.doubtful = true}, {request(1, started, safe)}));
  EXPECT_TRUE(explained({}, {request(1, started, safe)})) << "it is the culprit";
  EXPECT_TRUE(explained({.culprit_ticket = 9, .culprit_known = true}, {}));
  EXPECT_TRUE(explained({.from_outside = true}, {request(1, started, safe)}));
  EXPECT_TRUE(explained({.by_run_limit = true}, {}));
}

TEST(Suspects, AreThoseThatRunAgainUnlessTheCauseIsKnownOrTakenToBe) {
  using tickets = std::optional<std::vector<std::uint64_t>>;
  const auto suspects = [](const loss& what, const std::vector<request_at_loss>& requests) {
    return suspects_of(what, requests, judge(what, requests));
  };
  const loss fault{.of_device = true};
  EXPECT_EQ(suspects(fault, {}), tickets(std::in_place));
  EXPECT_EQ(suspects(fault, {request(1, !started, safe)}), tickets(std::in_place));
  EXPECT_EQ(suspects(fault, {request(1, started, safe), request(2, !started, !safe),
                             request(3, started, safe)}),
            tickets({1, 3}));
  EXPECT_EQ(suspects(fault, {request(1, started, safe)}), tickets()) << "it is the culprit";
  EXPECT_EQ(suspects(fault, {request(1, started, safe), request(2, started, !safe)}), tickets())
      << "one is ended, and may have been it";
  EXPECT_EQ(suspects({.culprit_ticket = 9, .culprit_known = true, .of_device = true},
                     {request(1, started, safe), request(2, started, safe)}),
            tickets());
}

}  // namespace
}  // namespace troupe
