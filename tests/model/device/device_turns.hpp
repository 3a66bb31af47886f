#pragma once

#include "device/local/local_device.hpp"
#include "device_simulation.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <map>
#include <optional>
#include <vector>

namespace troupe::model {

// The turns of the device thread, with workers that the test controls.
class DeviceTurns : public ::testing::Test {
 protected:
  void make(const device_config& config, bool own_memory = false) {
    make_unready(config, own_memory);
    turn();
    have_next_serve();
  }
  void make_unready(device_config config, bool own_memory = false) {
    config.mailbox_bytes = 4096;
    config.memory_limit_bytes = 64 << 20;
    config.backoff.jitter = 0;
    told_ = std::make_unique<device_model>(
        device_model::limits{config.restarts, config.backoff, environment_.time});
    environment_.told = told_.get();
    host_ = memory_pool::create(
                {.space = memory_space::host, .limit_bytes = 1 << 20, .granule_bytes = 4096})
                .value();
    chosen_backend backend{.plugin = "simulated", .description = {.name = "simulated"}};
    if (own_memory) {
      backend.source = source_;
      backend.description = source_->description();
    }
    core_ = local_device::create_with(std::move(backend), 0, config, host_, environment_).value();
    buffer_ =
        any_tensor::owned(core_->allocate(memory_space::device, 4096).value(), dtype::u8, {4096});
  }
  ~DeviceTurns() override {
    buffer_ = {};
    core_.reset();
  }

  void turn() { core_->supervision().take_turn(); }
  void have_next_serve() {
    environment_.next()->becomes_ready();
    turn();
    ASSERT_NE(environment_.serving(), nullptr);
  }
  // If nothing runs there is no culprit.
  void lose_worker() {
    environment_.serving()->ends({.signalled = false, .code = 3}, {}, {}, false, false);
    turn();
  }
  void kill_worker() {
    environment_.serving()->ends({.signalled = true, .code = SIGKILL}, {}, {}, true, false);
    turn();
  }
  // The state of the device when an answer comes.
  struct view {
    device_health health;
    std::optional<pid_t> worker;
  };
  // Its answer is found under its lane.
  void send(std::uint8_t lane, const request_options& options = {}, use request = {}) {
    (void)core_->send(request_type_of<use>(), &request, options,
                      [this, lane](const std::byte*, error* failure) {
                        answers_[lane] = failure != nullptr ? failure->code : errc{};
                        if (core_ == nullptr) return;  // with its last handle
                        seen_[lane] = {.health = core_->health(), .worker = core_->worker_pid()};
                      },
                      {.lane = lane});
  }
  [[nodiscard]] std::optional<errc> answer_of(std::uint8_t lane) const {
    const auto found = answers_.find(lane);
    return found == answers_.end() ? std::nullopt : std::optional(found->second);
  }
  void have_it_begin(std::initializer_list<int> lanes_to_begin) {
    while (environment_.serving()->takes_up()) {
    }
    for (const int lane : lanes_to_begin)
      environment_.serving()->begins(lane);
  }
  // Each has begun in a lane of its own, and the context is lost to one of them.
  void have_two_suspects() {
    send(0);
    send(1);
    have_it_begin({0, 1});
    environment_.serving()->loses_its_context();
    turn();
    have_next_serve();
  }
  // The request is named for the end of its worker.
  void have_it_crash(const use& request, const request_options& options = {}) {
    send(0, options, request);
    have_it_begin({0});
    environment_.serving()->ends({.signalled = true, .code = SIGSEGV}, SIGSEGV, 0, false, false);
    turn();
    ASSERT_EQ(answer_of(0), errc::device_fault);
    answers_.clear();
    have_next_serve();
  }
  void have_it_end_well(std::uint8_t lane) {
    have_it_begin({lane});
    environment_.serving()->completes(lane, errc{});
    turn();
  }
  [[nodiscard]] std::vector<quarantined_request> quarantine() {
    return core_->completions().quarantine().list();
  }
  void reap_and_settle() {
    environment_.draining()->can_be_reaped();
    turn();
  }

  simulated_environment environment_{0};
  std::unique_ptr<device_model> told_;
  std::shared_ptr<memory_pool> host_;
  std::shared_ptr<simulated_source> source_ = std::make_shared<simulated_source>(false);
  std::shared_ptr<local_device> core_;
  any_tensor buffer_;
  std::map<std::uint8_t, errc> answers_;
  std::map<std::uint8_t, view> seen_;  // as they came
};

}  // namespace troupe::model
