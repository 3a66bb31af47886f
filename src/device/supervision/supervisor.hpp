#pragma once

#include "core/dispatch/program_thread.hpp"
#include "device/completion/reactor.hpp"
#include "device/mailbox/mailbox.hpp"
#include "device/selection/backend_choice.hpp"
#include "device/supervision/incarnation.hpp"
#include "device/supervision/loss/fault_attribution.hpp"
#include "device/supervision/loss/loss_report.hpp"
#include "device/supervision/loss/recovery.hpp"
#include "device/supervision/loss/settlement.hpp"
#include "device/supervision/renewal.hpp"
#include "device/supervision/request_watch.hpp"
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
#include <span>
#include <thread>
#include <vector>

namespace troupe {

/// Keeps one worker serving a device: starts it, watches it, and when it is lost hands the mailbox
/// to the next one. It owns the worker in service, the thread, and the public state of the device;
/// each other part of the work is a class with its own state:
///
///  - `worker_watch` notices that the worker is lost;
///  - `settlement` decides about each request of a lost worker, with `fault_attribution`
///    if several may have caused a fault, and `loss_report` writes the journal;
///  - `worker_succession` owns the next worker, and limits how many there may be;
///  - `worker_memory` tells workers which memory there is;
///  - `renewal` drains the worker, if the program wants another one.
///
/// One thread, the device thread, does all of this, or a test that calls its turns. Other threads
/// reach it by `execute` (a queue under a mutex, and an eventfd), by the checks that senders
/// schedule, and by the messages of workers. Public questions are answered from atomics and a mutex
/// that is held for a copy only.
///
/// The program's code may wait for anything and take any time, so it never runs on the device
/// thread: continuations of its completions, and watchers, run on a thread of their own.
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
    event_journal& journal;
    const os::unique_fd* blobs = nullptr;  ///< `worker_plan::blobs`
    chosen_backend backend{};
    int wakes = -1;  ///< the eventfd of the device thread
    supervisor_environment* environment = &supervisor_environment::real();
  };

  explicit supervisor(parts p);
  ~supervisor();
  supervisor(const supervisor&) = delete;
  supervisor& operator=(const supervisor&) = delete;

  /// Starts the threads. Once, before the device is shared. \errors `system_error` if there are no
  /// more threads
  [[nodiscard]] result<void> begin();

  /// Refuses new requests, fails those in flight with `errc::device_stopped`, ends the workers.
  /// Returns when that is done and the continuations and watchers that do not wait have run, unless
  /// `must_not_wait()`. Any number of threads may call it at once.
  void stop(error reason);
  /// The same for good: it cannot be restarted any more, and its threads end.
  void end(error reason);
  /// Makes a stopped device serve again, with the same memory and a fresh budget. Does nothing to a
  /// running one. \errors `device_stopped` after `end`; `device_condemned`
  [[nodiscard]] result<void> restart();
  /// See `device::renew`; `send` sends a `lane.rest`, on the device thread.
  [[nodiscard]] future<void> renew(const renew_options& how, renewal::rest_sender send);
  /// True for the device's own threads, as in a continuation, and for a thread with the reactor's
  /// role, as when an answer destroys the last handle: the device thread waits for that role.
  [[nodiscard]] bool must_not_wait() const noexcept;
  /// True until a thread has waited for the end of the device thread.
  [[nodiscard]] bool has_thread() const noexcept { return thread_.joinable(); }
  /// Stops the device if the caller must not wait: the device thread ends by calling `last`, which
  /// frees this, perhaps before the call returns. False if that thread has nothing left to do: it
  /// can be waited for. Preconditions: `has_thread()`; no other thread uses this.
  [[nodiscard]] bool end_unawaited(unique_function<void()> last);

  /// The work of the device thread between two sleeps; called directly if `supervisor_environment`
  /// has no device thread.
  void take_turn();
  /// When there is next something to do, if no event comes before.
  [[nodiscard]] clock::time_point next_turn() const;
  [[nodiscard]] clock::time_point current_time() const noexcept {
    return parts_.environment->now();
  }

  /// Hears of the device's end, with the reason and whether it was stopped on request, and of its
  /// restart. Called on the device thread: must not wait. Set once, before the device is shared; a
  /// device that has stopped by then is reported at once.
  struct life_listener {
    unique_function<void(const error& why, bool by_request)> has_stopped;
    unique_function<void()> is_restarted;
  };
  void report_life_to(life_listener listener);
  /// Whether the program has stopped it, even after it gave up: its memory is not needed.
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
  /// The reason why the device takes no requests. Precondition: gone.
  [[nodiscard]] error stop_reason() const;
  // Optional, because a careless `kill` of pid −1 or 0 would hit every process or the own group.
  [[nodiscard]] std::optional<pid_t> worker_pid() const noexcept {
    const pid_t pid = pid_.load(std::memory_order_acquire);
    return pid > 0 ? std::optional(pid) : std::nullopt;
  }
  /// When the device thread last had a turn. Wakes it, so that a later call shows whether it turns.
  [[nodiscard]] clock::time_point ask_for_turn() noexcept {
    lanes_wanted_.store(true, std::memory_order_relaxed);
    wake();
    return clock::time_point(clock::duration(last_turn_.load(std::memory_order_relaxed)));
  }
  /// Its lanes in use at the last turn that was asked for.
  [[nodiscard]] std::vector<lane_telemetry> busy_lanes() const;
  [[nodiscard]] std::uint64_t replayed() const noexcept { return settlement_.replayed(); }

  /// Calls `watcher` soon and with each new generation, as a continuation; with no value whenever
  /// the device has stopped.
  using generation_watcher = unique_function<void(std::optional<std::uint64_t>)>;
  void watch(generation_watcher watcher);

  /// Runs `command` on the device thread. False if that has ended.
  bool execute(unique_function<void()> command);
  /// Runs continuations that another thread of the device deferred, without holding up others.
  void run_soon(detail::continuation_queue continuations);
  /// True on the device thread.
  [[nodiscard]] bool is_this_thread() const noexcept {
    return device_thread_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

  /// Counts the changes of memory so far; a request carries the count that it depends on.
  [[nodiscard]] std::uint64_t memory_version() const noexcept {
    return memory_.version(wire::device_pool);
  }

  /// Counts all changes of memory so far, those of peers' included.
  [[nodiscard]] std::uint64_t last_memory_change() const noexcept { return memory_.last_change(); }
  /// Maps a peer's whole memory in every worker, present and future. `memory` is never closed.
  void map_peer(wire::pool_number pool, std::uint64_t bytes, const os::unique_fd& memory) {
    change_memory(wire::control::map, {.pool = pool, .bytes = bytes, .descriptor = memory.get()});
  }

  /// Maps a slab of a peer that has its own memory, or unmaps it again, likewise.
  void map_peer_slab(wire::pool_number pool, const slab_place& slab, bool writable) {
    change_memory(wire::control::map, piece_of(pool, slab, writable));
  }
  void unmap_peer_slab(wire::pool_number pool, const slab_place& slab) {
    change_memory(wire::control::unmap, piece_of(pool, slab, false));
  }

  /// Call after sending a request with a deadline: the device thread checks it then.
  void schedule_check(std::int64_t at_ns) noexcept {
    if (watch_.schedule_check(at_ns)) wake();
  }
  /// Call after sending a request with a run limit of its own.
  void note_run_limit(std::chrono::nanoseconds limit) noexcept {
    if (watch_.note_run_limit(limit, current_time())) wake();
  }
  /// Call after sending any request.
  void note_busy() noexcept {
    if (watch_.note_busy()) wake();
  }

  /// See `worker_succession`.
  [[nodiscard]] bool next_on_trial() const noexcept { return succession_.next_on_trial(); }
  [[nodiscard]] bool take_trial() noexcept { return succession_.take_trial(); }

  /// Fails requests that were published after the device was gone, because it ended between a
  /// sender's check and the request's place in the ring. The sender checks again after publishing,
  /// and the device looks for published requests after its end, each with a fence between: at least
  /// one of them sees the other.
  void fail_latecomers();

  /// Changes the access rights of a buffer's memory in every worker, present and future.
  [[nodiscard]] future<void> protect(detail::buffer_ref buffer, bool read_only);

  /// Calls `look` on the device thread repeatedly, until it returns true or the device is gone: for
  /// conditions without an event.
  void look_until(unique_function<bool()> look);

  /// Asks it with each check of requests, until it is destroyed.
  void watch_with(std::weak_ptr<request_watch> watch);
  /// Ends the worker if it runs this request: that fails with this error and is not run again.
  void end_running(std::uint16_t slot, std::uint64_t ticket, error why);

  /// The reason why the worker in service does not know a request.
  [[nodiscard]] error why_unknown(const request_type& type) const;

 private:
  [[nodiscard]] static worker_plan plan_for(const parts& p, const worker_memory& memory);
  void wake() noexcept;
  void publish(device_state state);
  void tell(const std::shared_ptr<generation_watcher>& watcher, bool ended) const;
  void change_memory(wire::control kind, memory_piece piece);
  [[nodiscard]] static memory_piece piece_of(wire::pool_number pool, const slab_place& slab,
                                             bool writable);
  void finish_protects();
  [[nodiscard]] worker_pair workers() const noexcept {
    return {.active = active_.get(), .next = succession_.next()};
  }

  // The turns of the device thread: supervisor_turns.cpp.
  void run();
  template <class Step>
  void outlast(Step&& step);
  void run_commands();
  void drive();
  void note_busy_lanes();
  void hand_over_continuations();
  void sleep();
  void handle(worker_events of_active, worker_events of_next, bool lost_has_ended);
  void hear_next(worker_events what);
  void hear_active(worker_events what);
  void tick();
  void check_requests(clock::time_point now);
  void ask_watches(clock::time_point now);
  void end_unresponsive(clock::time_point now);

  // Why the next worker serves, and since when requests wait for it.
  enum class cause : std::uint8_t { start, loss, renewal };
  void await_next(cause why, clock::time_point since) noexcept {
    next_serves_for_ = why;
    waiting_since_ = since;
  }

  // Workers start, and are lost: supervisor_workers.cpp.
  void start_next();
  void next_failed(error why);
  void activate_next();
  void lose_active(sign_of_loss sign);
  void explain_end(const incarnation& worker, const os::exit_report& report, sign_of_loss& sign);
  void reap_lost();
  void settle_lost();
  void report_loss();
  void note_event(device_event e);
  void note_service(clock::time_point now, bool answers_are_due);
  void await_answer(const role&, std::span<const std::uint16_t> replay);
  void note_answer();
  void note_outcome(settlement::outcome left);
  void note_unexplained(std::optional<error> fault);
  [[nodiscard]] std::optional<sign_of_loss> violation_sign(const role& held);
  void on_alarm(std::uint64_t fault);

  // A worker is replaced that was not lost: supervisor_renewal.cpp.
  void accept_renewal(std::shared_ptr<promise<void>> answer, const renew_options& how,
                      renewal::rest_sender send);
  void look_after_renewal(clock::time_point now);
  void replace_drained();

  // The device ends, and is restarted: supervisor_end.cpp.
  void give_up(error why, bool by_request = false);
  [[nodiscard]] error reason_to_stop(error why);
  void end_service(const error& reason, bool by_request);
  void serve_again();
  void handle_faults();
  void condemn(error why);
  void leave_behind(const role& held);
  void fail_everything(const role& held, const error& why);
  void end_all();

  parts parts_;

  // State for other threads. The device thread writes the first three; release, so that a thread
  // that sees a state or a generation also sees what led to it.
  std::atomic<device_state> state_{device_state::starting};
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<pid_t> pid_{-1};
  // Relaxed: nothing goes with these.
  std::atomic<bool> is_let_go_{false};
  std::atomic<bool> lanes_wanted_{false};
  std::atomic<clock::rep> last_turn_{clock::now().time_since_epoch().count()};

  mutable std::mutex mutex_;  // guards the next eleven
  std::vector<unique_function<void()>> commands_;
  bool ended_ = false;
  bool has_run_ = false;              // the device thread has run, and only
  unique_function<void()> last_act_;  // this is left, when the supervisor has no other user
  std::vector<std::shared_ptr<generation_watcher>> watchers_;
  device_health health_;
  struct unanswered_recovery {
    device_event event;
    clock::time_point lost_at;
  };
  std::optional<unanswered_recovery> recovery_;  // until a worker has answered since the last loss
  std::optional<error> stop_reason_;
  std::vector<lane_telemetry> busy_lanes_;
  clock::time_point busy_lanes_at_{};
  std::vector<worker::missing_library> missing_;  // libraries that the worker in service lacks

  // Owned by the device thread. The parameters of workers outlive the workers.
  life_listener life_;
  worker_memory memory_;
  worker_watch watch_;
  fault_attribution cause_;
  settlement settlement_;  // owns a lost worker until it is reaped
  loss_report report_;
  worker_succession succession_;
  renewal renewal_;
  std::unique_ptr<incarnation> active_;
  cause next_serves_for_ = cause::start;
  clock::time_point waiting_since_ = clock::time_point::min();
  std::uint64_t answered_before_ = 0;  // the worker in service
  std::vector<unique_function<bool()>> looks_;
  std::vector<std::weak_ptr<request_watch>> request_watches_;
  clock::time_point looking_since_{};
  bool ending_ = false;

  // Written by the device thread itself, first and last: only that thread needs it, and after its
  // end another thread may get its id. Relaxed: the thread sees its own write.
  std::atomic<std::thread::id> device_thread_{};
  bool has_begun_ = false;  // with a device thread
  std::mutex join_mutex_;   // others that stop the device wait here while the first one joins
  std::shared_ptr<detail::program_thread> program_;  // null if there is no device thread
  std::jthread thread_;
};

}  // namespace troupe
