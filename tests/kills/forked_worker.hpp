#pragma once

#include "device/supervision/supervisor_environment.hpp"

#include <troupe/plugin/executor.hpp>

#include <functional>
#include <memory>
#include <vector>

namespace troupe::kills {

/// How a worker was found when it was reaped.
struct last_moment {
  bool asleep = false;     ///< no thread read the mailbox
  bool running = false;    ///< a request had begun, and had no mark
  bool answering = false;  ///< one of these had its answer announced already
};

/// A worker of the real parts (inbox, lanes, outbox, on the real mailbox and a segment of its own)
/// in a process that is nothing but a fork of the program. So it is there within a millisecond, and
/// ten thousand can be killed in some seconds.
class forked_worker final : public incarnation {
 public:
  /// The calling process has no other thread. `operations` outlive the worker.
  [[nodiscard]] static result<std::unique_ptr<forked_worker>> start(
      const worker_plan& plan, std::uint64_t number, const operation_table& operations,
      std::function<void(const last_moment&)> on_end);
  ~forked_worker() override;

  [[nodiscard]] bool has_ended() const noexcept;
  [[nodiscard]] const os::unique_fd& segment_memory() const noexcept { return segment_memory_; }

  wire::worker_header* segment() const noexcept override {
    return reinterpret_cast<wire::worker_header*>(segment_pages_.address());
  }
  pid_t pid() const noexcept override { return pid_; }
  int control() const noexcept override { return 0; }  // there is none; it never closes either
  void on_control() override {}
  void protect(const frozen_range&, bool) override {}
  void change_memory(const memory_change&) override {}
  void ping() override {
    note_ping();
    note_pong();
  }
  void kill() noexcept override;
  os::exit_report end() noexcept override;

 private:
  forked_worker(const worker_plan& plan, std::uint64_t number, os::unique_fd memory,
                os::mapping pages, std::function<void(const last_moment&)> on_end);
  [[noreturn]] void serve(const operation_table& operations, pid_t program) noexcept;

  const worker_plan& plan_;
  os::unique_fd segment_memory_;
  os::mapping segment_pages_;
  std::function<void(const last_moment&)> on_end_;
  pid_t pid_ = -1;
};

/// Real time, forked workers, and no thread but the caller's.
class forked_environment final : public supervisor_environment {
 public:
  explicit forked_environment(const operation_table& operations) : operations_(operations) {}

  clock::time_point now() const noexcept override { return clock::now(); }
  void pause(clock::duration how_long) noexcept override;
  result<std::unique_ptr<incarnation>> start_worker(
      const worker_plan& plan, std::uint64_t number,
      const std::vector<frozen_range>& frozen) override;
  worker_events events_of(const incarnation& worker) override {
    return {.ended = static_cast<const forked_worker&>(worker).has_ended()};
  }
  bool has_device_thread() const noexcept override { return false; }

  /// Each worker, once it runs, with what the device has given it.
  std::function<void(const forked_worker&, const worker_plan&)> on_start{};
  std::function<void(const last_moment&)> on_end{};

 private:
  const operation_table& operations_;
};

}  // namespace troupe::kills
