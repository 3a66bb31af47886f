#include "device/device_core.hpp"
#include "device_simulation.hpp"

#include <gtest/gtest.h>

#include <csignal>

// What the device thread does in one turn, with workers that do as the test says.
namespace troupe::model {
namespace {

using namespace std::chrono_literals;

class DeviceTurns : public ::testing::Test {
 protected:
  void make(device_config config) {
    config.mailbox_bytes = 4096;
    config.memory_limit_bytes = 1 << 20;
    config.backoff.jitter = 0;
    told_ = std::make_unique<device_model>(
        device_model::limits{config.restarts, config.backoff, around_.time});
    around_.told = told_.get();
    host_ = memory_pool::create(
                {.space = memory_space::host, .limit_bytes = 1 << 20, .granule_bytes = 4096})
                .value();
    core_ = device_core::create_with({.plugin = "simulated", .description = {.name = "simulated"}},
                                     0, config, host_, around_)
                .value();
    turn();
    have_next_serve();
  }
  ~DeviceTurns() override { core_.reset(); }

  void turn() { core_->watch().take_turn(); }
  void have_next_serve() {
    around_.next()->becomes_ready();
    turn();
    ASSERT_NE(around_.serving(), nullptr);
  }
  void lose_worker() {
    around_.serving()->ends({.signalled = true, .code = SIGKILL}, {}, {}, true, false);
    turn();
  }
  void send(std::uint8_t lane, std::chrono::nanoseconds deadline) {
    use request{.number = lane};
    ASSERT_TRUE(core_->send(request_type_of<use>(), &request, {.deadline = deadline}, lane,
                            [](const std::byte*, error*) {}));
  }

  simulated_surroundings around_{0};
  std::unique_ptr<device_model> told_;
  std::shared_ptr<memory_pool> host_;
  std::shared_ptr<device_core> core_;
};

TEST_F(DeviceTurns, ARestartAsOldAsTheWindowCounts) {
  make({.standby = false,
        .restarts = {.restarts = 1, .window = 100ms},
        .backoff = {.initial = 0ms}});
  lose_worker();
  have_next_serve();
  around_.time += 100ms;
  lose_worker();
  EXPECT_EQ(core_->watch().state(), device_state::stopped);
}

TEST_F(DeviceTurns, ALostWorkerIsReplacedAtOnceHoweverLongAFailedStandbyIsLeftAlone) {
  make({.standby = true, .backoff = {.initial = 10s}});
  around_.next()->fails_to_start({.code = errc::system_error});
  turn();
  ASSERT_EQ(around_.next(), nullptr);
  lose_worker();
  EXPECT_NE(around_.next(), nullptr);
}

TEST_F(DeviceTurns, AHangHidesNobodysDeadline) {
  make({.standby = false});
  send(0, 10ms);
  send(1, 20ms);
  while (around_.serving()->takes_up()) {
  }
  around_.serving()->begins(0);
  const auto begin = around_.time;
  around_.time += 15ms;
  turn();
  ASSERT_EQ(core_->watch().state(), device_state::recovering);
  EXPECT_LE(core_->watch().next_turn(), begin + 20ms);
}

}  // namespace
}  // namespace troupe::model
