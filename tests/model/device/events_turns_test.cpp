// The journal of a device: each event once, in order, with its culprit and its times.
#include "device_turns.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace troupe::model {
namespace {

using namespace std::chrono_literals;
using kind = device_event::kind;

class DeviceEvents : public DeviceTurns {
 protected:
  /// Those since the last call.
  std::vector<device_event> events() {
    auto all = core_->events(last_);
    if (!all.empty()) last_ = all.back().number;
    return all;
  }
  std::vector<kind> kinds() {
    std::vector<kind> found;
    for (const device_event& e : events())
      found.push_back(e.what);
    return found;
  }

 private:
  std::uint64_t last_ = 0;
};

TEST_F(DeviceEvents, ALossNamesItsCulpritAndTheRecoveryIsMeasuredToTheNextAnswer) {
  make({.standby = false, .restarts = {.restarts = 5}, .backoff = {.initial = 0ms}});
  EXPECT_EQ(kinds(), (std::vector{kind::started}));
  send(0, {}, {.number = 7});
  send(1);
  have_it_begin({0, 1});
  environment_.serving()->ends({.signalled = true, .code = SIGSEGV}, SIGSEGV, 0, false, false);
  turn();
  environment_.time += 3ms;
  have_next_serve();
  EXPECT_EQ(core_->health().last_failover, 3ms) << "until an answer comes";
  auto lost = events();
  ASSERT_EQ(lost.size(), 1U) << "nothing is answered yet";
  EXPECT_EQ(lost[0].what, kind::lost);
  EXPECT_EQ(lost[0].generation, 1U);
  EXPECT_EQ(lost[0].pid, 1'000'001);
  EXPECT_EQ(lost[0].why->code, errc::device_fault);
  EXPECT_NE(lost[0].why->request.find("number=7"), std::string::npos) << lost[0].why->request;
  EXPECT_EQ(lost[0].count, 1) << "the other one runs again";
  EXPECT_EQ(lost[0].failed, 1);
  EXPECT_EQ(lost[0].spent, 0) << "a culprit was named";
  EXPECT_EQ(lost[0].budget, 5);

  environment_.time += 4ms;
  have_it_end_well(1);
  EXPECT_EQ(seen_[1].health.last_failover, 7ms) << "its receiver finds it";
  auto recovered = events();
  ASSERT_EQ(recovered.size(), 1U);
  EXPECT_EQ(recovered[0].what, kind::recovered);
  EXPECT_EQ(recovered[0].took, 7ms);
  EXPECT_EQ(recovered[0].generation, 2U);
  EXPECT_EQ(recovered[0].pid, 1'000'002);
  send(1);
  have_it_end_well(1);
  EXPECT_TRUE(events().empty());
}

TEST_F(DeviceEvents, ARecoveryThatNobodyWaitsForEndsWhenTheNextWorkerServes) {
  make({.standby = false, .backoff = {.initial = 5ms}});
  (void)events();
  lose_worker();
  environment_.time += 5ms;
  turn();
  have_next_serve();
  const auto both = events();
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].what, kind::lost);
  EXPECT_EQ(both[0].spent, 1);
  EXPECT_TRUE(both[0].why->request.empty()) << "there is no culprit";
  EXPECT_EQ(both[1].what, kind::recovered);
  EXPECT_EQ(both[1].took, core_->health().last_failover);
}

TEST_F(DeviceEvents, ALossThatLeavesTensorsUndefinedSaysHowMany) {
  make({.standby = false, .backoff = {.initial = 0ms}});
  (void)events();
  have_it_crash({.number = 7, .writes = {buffer_}});
  const auto all = events();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1].what, kind::tainted) << "between the loss and the recovery";
  EXPECT_EQ(all[1].count, 1);
  EXPECT_EQ(all[1].why->request, all[0].why->request);
}

TEST_F(DeviceEvents, AnXidIsToldWhoeverCausedIt) {
  make({.standby = false}, true);
  (void)events();
  source_->raise(79);
  turn();
  const auto all = events();
  ASSERT_EQ(all.size(), 1U) << "nothing ran here";
  EXPECT_EQ(all[0].what, kind::xid);
  EXPECT_EQ(all[0].count, 79);
}

// On a GPU the next worker answers before the lost one is gone.
TEST_F(DeviceEvents, ALossWhoseCauseIsKnownLateComesBeforeItsRecovery) {
  make({.standby = false, .backoff = {.initial = 0ms}}, true);
  (void)events();
  have_two_suspects();
  send(2);
  have_it_end_well(2);
  EXPECT_TRUE(events().empty()) << "it is not settled";
  reap_and_settle();
  const auto both = events();
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].what, kind::lost);
  EXPECT_EQ(both[0].count, 2);
  EXPECT_EQ(both[1].what, kind::recovered);
  EXPECT_TRUE(both[0].at <= both[1].at);
}

TEST_F(DeviceEvents, ALossIsToldAfterASecondHoweverLongItsProcessStays) {
  make({.standby = false, .backoff = {.initial = 0ms}}, true);
  have_two_suspects();
  (void)events();
  environment_.time += 1s;
  turn();
  EXPECT_EQ(kinds(), (std::vector{kind::lost}));
  reap_and_settle();
  for (const int lane : {0, 1}) {
    have_it_begin({lane});
    environment_.serving()->completes(lane, errc{});
    environment_.time += 200ms;
    turn();
  }
  EXPECT_EQ(kinds(), (std::vector{kind::recovered, kind::unexplained}));
}

TEST_F(DeviceEvents, AQuarantineFollowsItsLossAndEnds) {
  make({.standby = false, .backoff = {.initial = 0ms}, .quarantine = 2s});
  const use bad{.number = 7};
  for (int i = 0; i < 2; ++i)
    have_it_crash(bad);
  auto all = events();
  ASSERT_EQ(all.size(), 6U);
  EXPECT_EQ(all[3].what, kind::lost);
  EXPECT_EQ(all[4].what, kind::quarantined);
  EXPECT_EQ(all[4].wait, 2s);
  EXPECT_EQ(all[4].count, 2);
  EXPECT_NE(all[4].why->request.find("number=7"), std::string::npos);
  EXPECT_EQ(all[5].what, kind::recovered);
  EXPECT_TRUE(core_->forgive(quarantine().front().id));
  all = events();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].what, kind::forgiven);
  EXPECT_EQ(all[0].why->request, core_->events(0)[4].why->request);

  for (int i = 0; i < 2; ++i)
    have_it_crash(bad);
  (void)events();
  environment_.time += 2s;
  send(0, {}, bad);
  have_it_end_well(0);
  EXPECT_EQ(kinds(), (std::vector{kind::forgiven})) << "its trial went well";
}

TEST_F(DeviceEvents, TheEndOfTheBudgetIsOneEventAndSoIsARestart) {
  make({.standby = false, .restarts = {.restarts = 1, .window = 1h}, .backoff = {.initial = 0ms}});
  (void)events();
  lose_worker();
  turn();
  environment_.next()->fails_to_start({.code = errc::device_unavailable, .message = "no room"});
  turn();
  auto all = events();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].what, kind::lost);
  EXPECT_EQ(all[1].what, kind::gave_up);
  EXPECT_NE(all[1].why->message.find("no room"), std::string::npos);
  EXPECT_EQ(all[1].budget, 1);
  (void)core_->restart();
  have_next_serve();
  EXPECT_EQ(kinds(), (std::vector{kind::restarted, kind::started}));
  core_->stop({.code = errc::device_stopped, .message = "enough"});
  EXPECT_EQ(kinds(), (std::vector{kind::stopped}));
}

TEST_F(DeviceEvents, AStandbyIsToldWhenItIsWarmAndWhenItCannotStart) {
  make({.standby = true, .restarts = {.restarts = 5}, .backoff = {.initial = 8ms}});
  (void)events();
  environment_.next()->fails_to_start({.code = errc::device_unavailable, .message = "no room"});
  turn();
  auto all = events();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].what, kind::start_failed);
  EXPECT_EQ(all[0].wait, 8ms);
  EXPECT_EQ(all[0].why->message, "no room");
}

}  // namespace
}  // namespace troupe::model
