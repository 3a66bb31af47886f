#pragma once

#include "core/dispatch/program_thread.hpp"
#include "device/completion/reactor.hpp"
#include "device/selection/backend_choice.hpp"
#include "device/submission/mailbox.hpp"
#include "device/supervision/incarnation.hpp"
#include "device/supervision/loss/fault_attribution.hpp"
#include "device/supervision/loss/recovery.hpp"
#include "device/supervision/loss/settlement.hpp"
#include "device/supervision/supervisor_environment.hpp"
#include "device/supervision/worker_memory.hpp"
#include "device/supervision/worker_succession.hpp"
#include "device/supervision/worker_watch.hpp"
#include "memory/memory_pool.hpp"

#include <troupe/core/future.hpp>
#include <troupe/device/config.hpp>
#include <troupe/device/health.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace troupe {

/// Keeps one worker serving a device: starts it, watches it, and when it is lost hands the mailbox
/// to the next one. It has the worker in service, the thread, and what is known of the device
/// outside; each other part of the work is a class with its own state:
///
///  - `worker_watch` notices that the worker is lost;
///  - `settlement` decides what becomes of each request of a lost worker, with `fault_attribution`
///    where several may have caused a fault;
///  - `worker_succession` has the next worker, and says how many there may be;
///  - `worker_memory` tells workers which memory there is.
///
/// One thread, the device thread, does all of this, or whoever gives it its turns. Other threads
/// reach it by `execute` (a queue under a mutex, and an eventfd), by the looks that senders
/// ask for, and by what workers write. The public questions are answered from atomics and a mutex
/// that is held for a copy only.
///
/// The program's code, which may wait for anything and take as long as it likes, never runs on the
/// device thread: continuations of what that completes, and watchers, run on a thread of their own.
class supervisor final {
 public:
  using clock = std::chrono::steady_clock;

  struct parts {
    std::int32_t ordinal = 0;
    device_config config;
    mailbox& requests;
    reactor& completions;
    memory_pool& device_memory;
    memory_pool& host_memory;
    const os::unique_fd* blobs = nullptr;  ///< `worker_plan::blobs`
    chosen_backend backend{};
    int wakes = -1;  ///< the eventfd of the device thread
    supervisor_environment* around = &supervisor_environment::real();
  };

  explicit supervisor(parts p);
  ~supervisor();
  supervisor(const supervisor&) = delete;
  supervisor& operator=(const supervisor&) = delete;

  /// Starts the threads. Once, before anybody else knows it. \errors `system_error` where there are
  /// no more
  [[nodiscard]] result<void> begin();

  /// Refuses new requests, fails what is in flight with `errc::device_stopped`, ends the workers.
  /// Returns when that is done and those continuations and watchers have run that wait for nothing,
  /// unless `must_not_wait()`. Any number of threads may call it at once.
  void stop(error reason);
  /// The same for good: it cannot be restarted any more, and its threads end.
  void end(error reason);
  /// Has one that has stopped serve again, with the same memory and a fresh budget. Nothing happens
  /// to one that runs. \errors `device_stopped` after `end`; `device_condemned`
  [[nodiscard]] result<void> restart();
  /// True for the device's own threads, as in a continuation, and for one that has the reactor's
  /// role, as where an answer lets go of the last handle: the device thread waits for that.
  [[nodiscard]] bool must_not_wait() const noexcept;
  /// True until somebody has waited for the end of the device thread.
  [[nodiscard]] bool has_thread() const noexcept { return thread_.joinable(); }
  /// Stops it where the caller must not wait: the device thread ends by calling `last`, which frees
  /// this, maybe before the call returns. False where that thread has done all it had to do: it can
  /// be waited for. Preconditions: `has_thread()`; nobody else uses this.
  [[nodiscard]] bool end_unawaited(unique_function<void()> last);

  /// What the device thread does between two sleeps. Where `supervisor_environment` has none.
  void take_turn();
  /// When it has something to do although nothing happens until then.
  [[nodiscard]] clock::time_point next_turn() const;
  [[nodiscard]] clock::time_point current_time() const noexcept { return parts_.around->now(); }

  /// What hears of its end, with the reason and whether it was told to stop, and with nothing of
  /// its restart. Called on the device thread: waits for nothing. Set once, before anybody else
  /// knows the device; one that has stopped by then is told of at once.
  struct news_of_life {
    unique_function<void(const error& why, bool by_request)> has_stopped;
    unique_function<void()> is_restarted;
  };
  void tell_of_life(news_of_life told);
  /// Whether somebody has stopped it, be it after it had given up: nobody counts on its memory.
  [[nodiscard]] bool is_let_go() const noexcept {
    return is_let_go_.load(std::memory_order_relaxed);
  }

  [[nodiscard]] device_state state() const noexcept {
    return state_.load(std::memory_order_acquire);
  }
  /// True once the device takes no more requests.
  [[nodiscard]] bool gone() const noexcept {
    const device_state now = state();
    return now == device_state::stopped || now == device_state::condemned;
  }
  [[nodiscard]] std::uint64_t generation() const noexcept {
    return generation_.load(std::memory_order_acquire);
  }
  [[nodiscard]] device_health health() const;
  /// Why the device does not take requests. Precondition: gone.
  [[nodiscard]] error stop_reason() const;
  // Optional, because a pid of −1 or 0 in a careless `kill` would be every process or the own
  // group.
  [[nodiscard]] std::optional<pid_t> worker_pid() const noexcept {
    const pid_t pid = pid_.load(std::memory_order_acquire);
    return pid > 0 ? std::optional(pid) : std::nullopt;
  }
  [[nodiscard]] std::uint64_t replayed() const noexcept { return settlement_.replayed(); }

  /// Calls `watcher` soon and with each new generation, as a continuation; with no value whenever
  /// the device has stopped.
  using generation_watcher = unique_function<void(std::optional<std::uint64_t>)>;
  void watch(generation_watcher watcher);

  /// Runs `command` on the device thread. False when that has ended.
  bool execute(unique_function<void()> command);
  /// Runs what another thread of the device's has put off, where it holds nobody up.
  void run_soon(detail::continuation_queue continuations);
  /// Called on the device thread.
  [[nodiscard]] bool is_this_thread() const noexcept {
    return device_thread_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

  /// Counts the changes of memory so far; a request names those that it depends on.
  [[nodiscard]] std::uint64_t memory_version() const noexcept { return memory_.version(); }

  /// After a request with a deadline was sent, which is to be looked at then.
  void note_look(std::int64_t at_ns) noexcept {
    if (watch_.note_look(at_ns)) wake();
  }
  /// After a request with a run limit of its own was sent.
  void note_run_limit(std::chrono::nanoseconds limit) noexcept {
    if (watch_.note_run_limit(limit, current_time())) wake();
  }
  /// After any request was sent.
  void note_busy() noexcept {
    if (watch_.note_busy()) wake();
  }

  /// See `worker_succession`.
  [[nodiscard]] bool next_on_trial() const noexcept { return succession_.next_on_trial(); }
  [[nodiscard]] bool take_trial() noexcept { return succession_.take_trial(); }

  /// Fails what was published when the device was gone already, as when it ended between a sender's
  /// look at it and the request's place in the ring. The sender looks again once it has published,
  /// and the device for what is published once it has ended, each with a fence between the two: one
  /// of them sees the other.
  void fail_latecomers();

  /// Changes the rights of a buffer's memory in every worker, present and future.
  [[nodiscard]] future<void> protect(detail::buffer_ref buffer, bool read_only);

  /// Calls `look` on the device thread, again and again and soon, until it answers true or the
  /// device is gone: for what has no event of its own.
  void look_until(unique_function<bool()> look);

  /// Why the worker in service does not know a request.
  [[nodiscard]] error why_unknown(const request_type& type) const;

 private:
  [[nodiscard]] static worker_plan plan_for(const parts& p, const worker_memory& memory);
  void wake() noexcept;
  void publish(device_state state);
  void tell(const std::shared_ptr<generation_watcher>& watcher, bool ended) const;
  void change_memory(wire::control kind, memory_piece piece);
  void finish_protects();
  [[nodiscard]] worker_pair workers() const noexcept {
    return {.active = active_.get(), .next = succession_.next()};
  }

  // What the device thread does: supervisor_turns.cpp.
  void run();
  template <class Step>
  void outlast(Step&& step);
  void run_commands();
  void drive();
  void hand_over_continuations();
  void sleep();
  void handle(worker_events of_active, worker_events of_next, bool lost_has_ended);
  void hear_next(worker_events what);
  void hear_active(worker_events what);
  void tick();
  void check_requests(clock::time_point now);
  void end_debtors(clock::time_point now);

  // Workers come, and are lost: supervisor_workers.cpp.
  void start_next();
  void next_failed(error why);
  void activate_next();
  void lose_active(sign_of_loss sign);
  void explain_end(const incarnation& worker, const os::exit_report& report, sign_of_loss& sign);
  void reap_lost();
  void note_outcome(settlement::outcome left);
  void note_unexplained(std::optional<error> fault);
  [[nodiscard]] std::optional<sign_of_loss> protocol_violation();
  void on_alarm();

  // The device ends, and is restarted: supervisor_end.cpp.
  void give_up(error why, bool by_request = false);
  [[nodiscard]] error reason_to_stop(error why);
  void end_service(const error& reason, bool by_request);
  void serve_again();
  void handle_faults();
  void condemn(error why);
  void leave_behind();
  void fail_everything(const error& why);
  void end_all();

  parts parts_;

  // What other threads look at. The device thread writes the first three; release, so that whoever
  // sees a state or a generation sees what led to it.
  std::atomic<device_state> state_{device_state::starting};
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<pid_t> pid_{-1};
  std::atomic<bool> is_let_go_{false};  // relaxed: nothing goes with it

  mutable std::mutex mutex_;  // guards the next eight
  std::vector<unique_function<void()>> commands_;
  bool ended_ = false;
  bool has_run_ = false;              // the device thread has, and does nothing more but
  unique_function<void()> last_act_;  // this, where nobody else knows the supervisor any more
  std::vector<std::shared_ptr<generation_watcher>> watchers_;
  device_health health_;
  std::optional<error> stop_reason_;
  std::vector<worker::missing_library> missing_;  // in the worker in service

  // The device thread's own. What workers are started with outlives them.
  news_of_life life_;
  worker_memory memory_;
  worker_watch watch_;
  fault_attribution cause_;
  settlement settlement_;  // has a lost worker until it is reaped
  worker_succession succession_;
  std::unique_ptr<incarnation> active_;
  clock::time_point lost_at_ = clock::time_point::min();
  std::vector<unique_function<bool()>> looks_;
  clock::time_point looking_since_{};
  bool ending_ = false;

  // Written by the device thread itself, first and last: only for that one it makes a difference,
  // and once it has ended another one may have its number. Relaxed: it sees what it wrote.
  std::atomic<std::thread::id> device_thread_{};
  bool has_begun_ = false;  // with a device thread
  std::mutex join_mutex_;   // whoever stops the device waits here while the first one joins
  std::shared_ptr<detail::program_thread> program_;  // null where there is no device thread
  std::jthread thread_;
};

}  // namespace troupe
