#pragma once

#include "device/supervision/supervisor_environment.hpp"
#include "device_model.hpp"
#include "memory/device_source.hpp"
#include "worker/intake/inbox.hpp"
#include "worker/threads/hazards.hpp"

#include <troupe/device/device_description.hpp>

#include <csignal>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <span>

namespace troupe::model {

class simulated_environment;

/// A worker without a process: it reads the real mailbox and writes marks into a worker segment,
/// one step at a time, and ends in every way that a process can end.
///
/// If the device has memory of its own it has queues, too: it gives begun requests to a queue,
/// which runs one after the other and continues until the worker, once killed, is reaped.
class simulated_worker final : public incarnation {
 public:
  simulated_worker(const worker_plan& plan, std::uint64_t number,
                   simulated_environment& environment);
  ~simulated_worker() override;

  /// It has the mailbox.
  [[nodiscard]] bool serves() const noexcept { return !killed_ && requests_.activated(number()); }
  [[nodiscard]] bool ended() const noexcept { return report_.has_value(); }

  // The worker's actions, called by the test.
  void becomes_ready();
  void becomes_warm() noexcept { note_warm(); }
  void fails_to_start(error why);
  /// Takes up one request; false when there is none.
  bool takes_up();
  /// The lanes that could begin their first request, and those in which one runs.
  [[nodiscard]] std::vector<int> could_begin() const;
  [[nodiscard]] std::vector<int> running() const;
  void begins(int lane);
  void completes(int lane, errc code);
  /// Whether the `lane.rest` that runs in this lane would end now.
  [[nodiscard]] bool flag_is_set(int lane) const;
  /// The lanes whose last request it could be in the code of.
  [[nodiscard]] std::vector<int> callable() const;
  /// It is in the code of the last request that this lane was given, until it ends.
  void calls(int lane);
  /// Its process ends so; `named` is the request in its crash report.
  void ends(os::exit_report how, std::optional<std::uint32_t> reported_signal,
            std::optional<int> named_lane, bool from_outside, bool socket_first);
  void falls_silent() noexcept { silent_ = true; }
  [[nodiscard]] bool silent() const noexcept { return silent_; }
  /// It says so itself, and lives.
  void loses_its_context();
  /// After it was killed: it is gone.
  void can_be_reaped() noexcept { signs_.ended = true; }
  [[nodiscard]] bool is_draining() const noexcept { return killed_ && !is_over_; }

  // The supervisor's calls.
  wire::worker_header* segment() const noexcept override { return segment_; }
  pid_t pid() const noexcept override { return 1'000'000 + static_cast<pid_t>(number()); }
  int control() const noexcept override { return socket_open_ ? 0 : -1; }
  void on_control() override;
  void protect(const frozen_range&, bool) override {}
  void change_memory(const memory_change&) override {}
  void serves(std::uint64_t) override {}
  void ping() override;
  void kill() noexcept override;
  os::exit_report end() noexcept override;

  worker_events take_events() noexcept;

 private:
  struct lane_state {
    std::deque<worker::job*> queue;
    struct given {
      worker::job* what;
      std::optional<errc> passes;  // why it does not run
    };
    std::deque<given> given;  // one at most without queues
    std::uint64_t admitted = 0;
    std::uint64_t last_given = 0;
  };
  struct unmapped {
    std::size_t bytes;
    void operator()(std::byte* p) const noexcept;
  };

  [[nodiscard]] bool hazards_over(const worker::job& j) const;
  [[nodiscard]] bool may_begin(const lane_state& lane) const;
  void finish(lane_state& lane, worker::job& j, errc code, bool had_begun);
  [[nodiscard]] device_model::sign sign() const;

  simulated_environment& environment_;
  std::unique_ptr<std::byte, unmapped> pages_;
  wire::worker_header* segment_;
  std::span<wire::reply_slot> replies_;
  worker::inbox requests_;
  wire::address_ranges ranges_;
  worker::hazard_tracker::completed_counts completed_{};
  worker::hazard_tracker hazards_{completed_};
  std::vector<std::unique_ptr<worker::job>> jobs_;  // by slot
  std::array<lane_state, wire::max_lanes> lanes_;
  bool has_queues_;
  bool begun_ = false;
  bool killed_ = false;
  bool context_lost_ = false;
  bool has_said_so_ = false;   // and was heard
  bool stands_still_ = false;  // after it was killed
  bool silent_ = false;
  bool socket_open_ = true;
  bool is_over_ = false;  // the supervisor has ended it
  std::optional<os::exit_report> report_;
  std::optional<std::uint64_t> named_;  // in its crash report, or the only one called
  std::vector<std::uint64_t> called_;
  bool from_outside_ = false;
  std::function<void()> spoken_;  // the supervisor's next event
  worker_events signs_;
};

/// Simulated workers and a clock that stands still, and a model that is told of all they do.
class simulated_environment final : public supervisor_environment {
 public:
  explicit simulated_environment(std::uint64_t seed) : random(seed) {}

  clock::time_point now() const noexcept override { return time; }
  void pause(clock::duration) noexcept override {}
  result<std::unique_ptr<incarnation>> start_worker(
      const worker_plan& plan, std::uint64_t number,
      const std::vector<frozen_range>& frozen) override;
  worker_events events_of(const incarnation& worker) override {
    return const_cast<simulated_worker&>(static_cast<const simulated_worker&>(worker))
        .take_events();
  }
  bool has_device_thread() const noexcept override { return false; }

  /// The one that serves, and the one that is to be next.
  [[nodiscard]] simulated_worker* serving() const;
  [[nodiscard]] simulated_worker* next() const;
  [[nodiscard]] simulated_worker* draining() const;

  clock::time_point time{std::chrono::hours(1)};
  std::mt19937_64 random;
  device_model* told = nullptr;
  std::function<void()> before_start;
  std::optional<error> next_start_fails;  ///< at once
  std::vector<simulated_worker*> workers;
};

/// A device's memory that is never touched.
class simulated_source final : public device_source {
 public:
  explicit simulated_source(bool one_process) {
    description_ = {.name = "simulated", .memory_bytes = 1 << 30, .one_process = one_process};
  }
  const device_description& description() const noexcept override { return description_; }
  std::uint64_t granule_bytes() const noexcept override { return 2 << 20; }
  result<std::unique_ptr<memory_slab>> allocate(std::uint64_t) override {
    struct slab final : memory_slab {
      int descriptor() const noexcept override { return -1; }
    };
    return std::unique_ptr<memory_slab>(std::make_unique<slab>());
  }
  result<memory_level> level() override { return memory_level{}; }
  void on_fault(alarm wanted) override { raise = std::move(wanted); }
  bool used_only_by(const std::vector<std::int32_t>&) override { return true; }

  alarm raise;  ///< nothing while faults are not awaited

 private:
  device_description description_;
};

}  // namespace troupe::model
