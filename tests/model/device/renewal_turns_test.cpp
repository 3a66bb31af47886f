// Workers that are replaced by `device::renew`.
#include "device_turns.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace troupe::model {
namespace {

using namespace std::chrono_literals;

class RenewalTurns : public DeviceTurns {
 protected:
  void have_standby_warm() {
    ASSERT_NE(environment_.next(), nullptr);
    environment_.next()->becomes_ready();
    environment_.workers.back()->becomes_warm();
    turn();
  }
  // The lane of the request that drains, if it could begin.
  std::optional<int> rest_could_begin() {
    while (environment_.serving()->takes_up()) {
    }
    for (const int lane : environment_.serving()->could_begin()) {
      if (lane >= lanes) return lane;
    }
    return std::nullopt;
  }
  void have_it_rest() {
    const auto lane = rest_could_begin();
    ASSERT_TRUE(lane);
    environment_.serving()->begins(*lane);
    environment_.time += 1ms;
    turn();
  }
  future<void> renew(const renew_options& how = {}) {
    future<void> answer = core_->renew(how);
    turn();
    return answer;
  }
  int count(device_event::kind what) {
    int found = 0;
    for (const device_event& e : core_->events(0))
      found += e.what == what ? 1 : 0;
    return found;
  }
};

TEST_F(RenewalTurns, TheStandbyGetsTheMailboxOnceTheWorkerIsDrained) {
  make({.standby = true});
  have_standby_warm();
  send(0, {}, {.updates = {buffer_}});
  have_it_begin({0});
  future<void> renewed = renew();
  send(1);
  EXPECT_FALSE(rest_could_begin()) << "a request still runs";
  environment_.time += 5ms;
  turn();
  EXPECT_EQ(core_->generation(), 1U);
  environment_.serving()->completes(0, errc{});
  have_it_rest();
  EXPECT_EQ(core_->generation(), 2U);
  EXPECT_TRUE(renewed.ready());
  EXPECT_EQ(answer_of(0), errc{});
  EXPECT_FALSE(answer_of(1));
  have_it_end_well(1);
  EXPECT_EQ(answer_of(1), errc{});
  const device_health now = core_->health();
  EXPECT_EQ(now.state, device_state::ready);
  EXPECT_EQ(now.restarts, 0U);
  EXPECT_FALSE(now.last_fault);
  EXPECT_EQ(core_->statistics().failed, 0U);
  EXPECT_EQ(core_->statistics().replayed, 0U);
  EXPECT_EQ(core_->statistics().in_flight, 0U);
  EXPECT_EQ(count(device_event::kind::lost), 0);
  for (const device_event& e : core_->events(0)) {
    if (e.what != device_event::kind::renewed) continue;
    EXPECT_EQ(e.generation, 2U);
    EXPECT_EQ(e.took, 6ms);
  }
  EXPECT_EQ(count(device_event::kind::renewed), 1);
  reap_and_settle();
  EXPECT_NE(environment_.next(), nullptr) << "the next standby starts";
}

TEST_F(RenewalTurns, WithoutAStandbyTheNextWorkerStartsBesideTheOldOne) {
  make({.standby = false});
  future<void> renewed = renew();
  EXPECT_FALSE(rest_could_begin()) << "there is no other worker yet";
  have_standby_warm();
  have_it_rest();
  EXPECT_TRUE(renewed.ready());
  EXPECT_EQ(core_->generation(), 2U);
  EXPECT_EQ(environment_.next(), nullptr);
}

TEST_F(RenewalTurns, AFreshWorkerIsStartedAfterTheCall) {
  make({.standby = true});
  have_standby_warm();
  const auto of_standby = environment_.workers.back()->number();
  future<void> renewed = renew({.fresh = true});
  EXPECT_FALSE(rest_could_begin());
  have_standby_warm();
  have_it_rest();
  EXPECT_TRUE(renewed.ready());
  EXPECT_GT(environment_.serving()->number(), of_standby);
}

TEST_F(RenewalTurns, WhereOnlyOneProcessMayUseTheDeviceTheNextStartsAfterTheOldOne) {
  source_ = std::make_shared<simulated_source>(true);
  make({.standby = false}, true);
  future<void> renewed = renew();
  send(0);
  have_it_rest();
  EXPECT_EQ(core_->health().state, device_state::recovering);
  have_next_serve();
  EXPECT_TRUE(renewed.ready());
  EXPECT_EQ(count(device_event::kind::renewed), 1);
  have_it_end_well(0);
  EXPECT_EQ(answer_of(0), errc{});
}

TEST_F(RenewalTurns, AWorkerThatIsLostMeanwhileIsReplacedOnce) {
  for (const bool rests : {false, true}) {
    make({.standby = true, .restarts = {.restarts = 0}});
    have_standby_warm();
    send(0);
    future<void> renewed = renew();
    const auto lane = rest_could_begin();
    ASSERT_TRUE(lane);
    if (rests) environment_.serving()->begins(*lane);
    kill_worker();
    EXPECT_EQ(core_->generation(), 2U);
    EXPECT_TRUE(renewed.ready());
    EXPECT_EQ(count(device_event::kind::renewed), 0);
    have_it_end_well(0);
    EXPECT_EQ(std::exchange(answers_, {})[0], errc{});
    EXPECT_EQ(core_->statistics().failed, 0U);
    EXPECT_EQ(core_->statistics().in_flight, 0U);
    core_.reset();
  }
}

TEST_F(RenewalTurns, ALostStandbyIsWaitedForAndTheOldWorkerGoesOn) {
  make({.standby = true, .backoff = {.initial = 10ms}});
  have_standby_warm();
  future<void> renewed = renew();
  environment_.workers.back()->ends({.signalled = true, .code = SIGKILL}, {}, {}, true, false);
  turn();
  const auto lane = rest_could_begin();
  ASSERT_TRUE(lane);
  environment_.serving()->begins(*lane);
  environment_.serving()->completes(*lane, errc{});  // its flag is set
  send(0);
  turn();
  have_it_end_well(0);
  EXPECT_EQ(answer_of(0), errc{});
  environment_.time += 10ms;
  turn();
  have_standby_warm();
  EXPECT_EQ(core_->generation(), 1U);
  have_it_rest();
  EXPECT_TRUE(renewed.ready());
  EXPECT_EQ(core_->generation(), 2U);
}

TEST_F(RenewalTurns, ARequestThatRunsForTooLongKeepsItsWorker) {
  make({.standby = true});
  have_standby_warm();
  send(0);
  have_it_begin({0});
  future<void> renewed = renew({.drain = 20ms});
  environment_.time += 20ms;
  turn();
  ASSERT_TRUE(renewed.ready());
  EXPECT_EQ(renewed.get_result().error().code, errc::deadline_exceeded);
  const auto lane = rest_could_begin();
  ASSERT_TRUE(lane) << "it need not be alone any more";
  environment_.serving()->begins(*lane);
  environment_.time += 5ms;
  turn();
  EXPECT_EQ(core_->generation(), 1U);
  environment_.serving()->completes(*lane, errc{});
  environment_.serving()->completes(0, errc{});
  turn();
  EXPECT_EQ(answer_of(0), errc{});
  // The next call drains anew.
  future<void> again = renew();
  have_it_rest();
  EXPECT_TRUE(again.ready());
  EXPECT_EQ(core_->generation(), 2U);
}

TEST_F(RenewalTurns, AWorkerThatCannotStartFailsTheCall) {
  make({.standby = false});
  future<void> renewed = renew();
  environment_.next()->fails_to_start({.code = errc::library_missing, .message = "gone"});
  turn();
  ASSERT_TRUE(renewed.ready());
  EXPECT_EQ(renewed.get_result().error().code, errc::library_missing);
  send(0);
  have_it_end_well(0);
  EXPECT_EQ(answer_of(0), errc{});
}

TEST_F(RenewalTurns, AStoppedDeviceRefuses) {
  make({.standby = true});
  future<void> renewed = renew();
  core_->supervision().stop({.code = errc::device_stopped, .message = "told to"});
  ASSERT_TRUE(renewed.ready());
  EXPECT_EQ(renewed.get_result().error().code, errc::device_stopped);
  EXPECT_EQ(renew().get_result().error().code, errc::device_stopped);
}

class RenewalSchedules : public RenewalTurns {
 protected:
  int below(int n) {
    return static_cast<int>(environment_.random() % static_cast<std::uint64_t>(n));
  }
  int one_of(const std::vector<int>& some) {
    return some[static_cast<std::size_t>(below(static_cast<int>(some.size())))];
  }
  void make_any() {
    capacity_ = static_cast<std::uint32_t>(4 + below(8));
    sent_ = answered_ = failed_ = kills_ = 0;
    make({.mailbox_capacity = capacity_,
          .standby = below(2) == 0,
          .restarts = {.restarts = 1000},
          .backoff = {.initial = 0ms}},
         below(2) == 0);
  }
  void send_one() {
    // One slot is the rest's, also for a while after its end.
    if (core_->statistics().in_flight + 2 > capacity_) return;
    const use request{.number = sent_++};
    (void)core_->send(request_type_of<use>(), &request, {},
                      [this](const std::byte*, error* failure) {
                        ++answered_;
                        failed_ += failure != nullptr ? 1 : 0;
                      },
                      {.lane = static_cast<std::uint8_t>(below(lanes))});
  }
  void work(simulated_worker& now) {
    const int what = below(4);
    if (what == 0) {
      (void)now.takes_up();
    } else if (const auto could = now.could_begin(); what == 1 && !could.empty()) {
      now.begins(one_of(could));
    } else if (const auto some = now.running(); what > 1 && !some.empty()) {
      const int lane = one_of(some);
      if (lane < lanes || now.flag_is_set(lane)) now.completes(lane, errc{});
    }
  }
  void step(int what) {
    simulated_worker* const now = environment_.serving();
    if (what < 60 && now != nullptr) {
      work(*now);
    } else if (what < 70) {
      turn();
    } else if (what < 78 && environment_.next() != nullptr) {
      simulated_worker* const next = environment_.next();
      next->becomes_ready();
      next->becomes_warm();
    } else if (what < 82) {
      environment_.time += 1ms * below(20);
    } else if (simulated_worker* const late = environment_.draining(); what < 85 && late) {
      late->can_be_reaped();
    } else if (what < 95) {
      send_one();
    } else if (what < 99 && asked_.size() < 4) {
      asked_.push_back(core_->renew({.fresh = below(3) == 0}));
    } else if (now != nullptr && kills_++ < 4) {
      now->ends({.signalled = true, .code = SIGKILL}, {}, {}, true, below(2) == 0);
    }
  }

  std::uint32_t capacity_ = 0;
  int sent_ = 0;
  int answered_ = 0;
  int failed_ = 0;
  int kills_ = 0;
  std::vector<future<void>> asked_;
};

// Each request is answered well, once: it is safe to repeat, and all losses come from outside.
TEST_F(RenewalSchedules, LoseNoRequest) {
  constexpr int rounds = 300;
  int renewals = 0;
  for (int round = 0; round < rounds; ++round) {
    environment_.random.seed(static_cast<std::uint64_t>(round));
    make_any();
    for (int i = 0; i < 200; ++i)
      step(below(100));
    for (int i = 0; i < 4000 && !(answered_ == sent_ && core_->statistics().in_flight == 0); ++i)
      step(below(85));
    ASSERT_EQ(answered_, sent_) << "round " << round;
    ASSERT_EQ(failed_, 0) << "round " << round;
    ASSERT_EQ(core_->statistics().failed, 0U) << "round " << round;
    for (const future<void>& one : asked_)
      renewals += one.ready() ? 1 : 0;
    asked_.clear();
    core_.reset();
  }
  EXPECT_GT(renewals, rounds);
}

}  // namespace
}  // namespace troupe::model
