#pragma once

#include "core/actor/mailbox.hpp"
#include "core/actor/restart_history.hpp"
#include "core/actor/settling.hpp"
#include "core/ambient.hpp"
#include "core/dispatch/turn_dispatcher.hpp"
#include "core/future/failure_reason.hpp"

#include <troupe/core/actor.hpp>
#include <troupe/core/actor_status.hpp>
#include <troupe/core/completion_driver.hpp>

#include <array>
#include <atomic>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace troupe::detail {

class system_core;

/// One actor: its address, mailbox, place in the tree and current incarnation.
///
/// The lowest two bits of `state_` say what the actor is doing and who may touch the rest: the
/// thread that changes `scheduled`, `idle` or `blocked` into `running` runs the turn and owns
/// everything marked "turn"; changing it back releases its writes (seq_cst throughout, because
/// senders push and then read `state_` while the turn ends and then looks for messages).
/// `queued`: a dispatcher's queue holds the cell. A helping thread may have run it meanwhile, so
/// the ticket is checked when it comes up; there is at most one.
/// `dead`: stopped for good; late senders drain the mailbox themselves.
class actor_cell final : public completion_driver, public resume_target {
 public:
  actor_cell(std::shared_ptr<system_core> core, actor_cell* parent, actor_factory make,
             spawn_options options, actor_traits traits);

  // By any thread.
  void retain_cell() noexcept;
  void release_cell() noexcept;
  bool post_message(message& m) noexcept;
  void post(turn_work& work) noexcept override;
  void post_call(unique_function<void(actor_cell&)> call);
  void stop_now() noexcept;
  void stop_after_mailbox() noexcept;
  [[nodiscard]] bool dead() const noexcept { return (state_.load() & dead_bit) != 0; }
  [[nodiscard]] actor_id id() const noexcept { return id_; }
  /// From 0; for the paths of unnamed children.
  std::uint64_t next_child_number() noexcept {
    return children_made_.fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] std::string path() const;
  [[nodiscard]] system_core& core() const noexcept { return *core_; }
  [[nodiscard]] mailbox& messages() noexcept { return mailbox_; }
  void post_when_possible(message& m, promise<void> placed) noexcept;
  void settle(const std::shared_ptr<const settling>& all);
  [[nodiscard]] std::int64_t unfinished_messages() const noexcept;
  [[nodiscard]] std::int64_t load() const noexcept;
  [[nodiscard]] bool is_of(const std::type_info& type) const noexcept {
    return type_ != nullptr && *type_ == type;
  }
  /// Nothing for a stopped actor, or the root.
  [[nodiscard]] std::optional<actor_status> status();
  [[nodiscard]] std::vector<any_actor_ref> children();
  void end_unfinished(bool late) noexcept;
  void begin();  ///< the first turn, once the cell has its place in the tree
  any_actor_ref add_child(actor_factory make, spawn_options options, actor_traits traits);
  void when_stopped(promise<terminated> end);

  // For dispatchers.
  bool claim_scheduled() noexcept;  ///< true: the caller runs the turn
  bool claim_ticket() noexcept;     ///< the same, with the cell just taken out of the queue
  std::int32_t run(turn_limits limits) noexcept;  ///< how many messages it handled
  actor_cell* next_ready = nullptr;               ///< link of the queue that holds the ticket

  // In a turn.
  void adopt(turn_task& begun) noexcept;
  void finish(turn_task& ended, std::unique_ptr<error> failed) noexcept;
  void fail(failure_reason e);
  /// Without a reason: it was told to stop.
  void begin_stop(failure_reason reason, bool drain);
  bool put_aside(message& m) noexcept;
  [[nodiscard]] std::unique_ptr<message_context> take_context() noexcept {
    return std::move(context_);
  }
  [[nodiscard]] const message_context* context() const noexcept { return context_.get(); }
  bool begin_unfinished() noexcept;  ///< for `end_unfinished`
  void begin_settling(std::shared_ptr<const settling> all);
  void unstash_all() noexcept;
  void watch(actor_cell& other, unique_function<void(const terminated&)> call);
  void unwatch(const actor_cell& other) noexcept;
  bool ends_watch(actor_id watched) noexcept;  ///< false: it has been ended
  void drain_and_stop();
  std::shared_ptr<timer_state> new_timer();

  // The system's own: helps threads that wait for this actor, resumes its coroutines.
  void drive_until(const future_state_base& state,
                   future_state_base::time_point deadline) noexcept override;
  void retain() noexcept override { retain_cell(); }
  void release() noexcept override { release_cell(); }
  void retain_home() noexcept override { retain_cell(); }
  void release_home() noexcept override { release_cell(); }

 private:
  enum activity : std::uint32_t { idle = 0, scheduled = 1, running = 2, blocked = 3 };
  static constexpr std::uint32_t activity_mask = 3;
  static constexpr std::uint32_t queued_bit = 4;
  static constexpr std::uint32_t dead_bit = 8;

  /// `restarting`: the old incarnation's children stop. `between`: there is no incarnation, until
  /// the siblings are as far.
  enum class phase : std::uint8_t {
    starting,
    active,
    failed,
    restarting,
    between,
    stopping,
    stopped
  };

  /// A supervisor's state of a child. Reached from the child, so that an event of one child costs
  /// no more if there are many.
  struct child {
    any_actor_ref ref;
    restart_history restarts{};
    timer_id backoff{};      ///< the last alarm: it keeps the cell that it is to wake
    std::size_t member = 0;  ///< its index, if any, in `sibling_restart::members`
  };

  /// A watch of another actor, which numbers it; 0 if the other had stopped before.
  struct standing_watch {
    any_actor_ref other;
    std::uint64_t number;
  };
  /// The watchers of this actor's end.
  struct audience {
    std::map<std::uint64_t, unique_function<void(const terminated&)>> watchers{};  ///< by number
    std::uint64_t last_number = 0;
    std::vector<promise<terminated>> futures{};
  };

  struct waiting_send {
    message* m;
    promise<void> placed;
  };

  /// Children that are restarted together: first all are ended, from the last to the first, then
  /// all begin again, from the first to the last. Owned by the supervisor's turn. It asks one child
  /// at a time, by a call with the number of the step; the child does its part in a turn of its own
  /// and posts the number back, so that an answer to a step that was overtaken (by another failure,
  /// by a stop) is recognised by its number. A child that stops for good answers by that.
  struct sibling_restart {
    failure_reason reason;
    std::size_t nth;  ///< among the restarts within the window
    /// In the order in which they were spawned; a stopped one leaves its place empty.
    std::vector<any_actor_ref> members;
    std::size_t left;  ///< members that have not stopped
    std::size_t up;    ///< members before this one have an incarnation
    enum class stage : std::uint8_t { ending, waiting, beginning } now = stage::ending;
  };

  /// A supervisor's decision about a failure. If the program has not made it, it is reported.
  struct verdict {
    directive what;
    bool by_default = false;
    bool budget_spent = false;
  };

  ~actor_cell() override;

  void wake(bool for_work) noexcept;
  void refuse(message& m, errc reason) noexcept;
  [[nodiscard]] error full_error() const;
  void admit_sends() noexcept;
  [[nodiscard]] bool takes_messages() const noexcept;
  [[nodiscard]] bool has_something() const noexcept;
  void run_work() noexcept;
  void handle(message& m) noexcept;
  bool pause_turn(const turn_limits& limits, bool spent) noexcept;
  bool linger(const turn_limits& limits) noexcept;

  void stop_if_drained();
  void start();
  void never_start() noexcept;
  bool make_incarnation(const error* restarted_for);
  void resume();
  void begin_restart(failure_reason reason);
  void end_with_siblings(failure_reason reason, std::uint64_t step);
  void begin_with_siblings(std::uint64_t step);
  void end_incarnation(failure_reason reason);
  void destroy_incarnation() noexcept;
  void finish_end();
  void begin_anew();
  void finish_stop() noexcept;
  bool stop_children(bool drain);
  std::uint64_t add_watcher(unique_function<void(const terminated&)> call);
  void forget_watcher(std::uint64_t number) noexcept;
  void end_watches() noexcept;
  [[nodiscard]] terminated end() const;
  void tell_audience() noexcept;
  void drive_own(const future_state_base& awaited, future_state_base::time_point deadline) noexcept;
  bool give_up_own_end(const future_state_base& awaited, const error& why) noexcept;
  void abandon_tasks(const error& reason) noexcept;
  void cancel_timers() noexcept;

  void child_failed(actor_cell& failed, failure_reason e, bool resumable);
  void child_stopped(actor_cell& gone);
  void post_after_backoff(timer_id& alarm, const any_actor_ref& who, std::size_t nth,
                          unique_function<void(actor_cell&)> call);
  void cancel_backoff(timer_id& alarm) noexcept;
  void restart_siblings(std::vector<any_actor_ref> members, failure_reason reason, std::size_t nth);
  [[nodiscard]] bool is_member(const child& one) const noexcept;
  [[nodiscard]] bool ends_anyway(const child& one) const noexcept;
  void next_sibling();
  void sibling_step_done(std::uint64_t step);
  void sibling_gone(const child& gone);
  [[nodiscard]] verdict decide(const error& e) const;
  void report(const actor_cell& failed, const error& e, const verdict& v) const noexcept;
  [[nodiscard]] error stopped_error() const;

  alignas(64) std::atomic<std::uint32_t> state_{blocked};
  /// Newest first. Any thread pushes, the turn takes all (acquire: it sees the work), so a link
  /// never comes back while another push looks at it. seq_cst as the mailbox is: push, then read
  /// `state_`.
  std::atomic<turn_work*> work_{nullptr};
  std::shared_ptr<turn_dispatcher> dispatcher_;
  std::atomic<std::uint32_t> references_{1};  ///< raised relaxed, lowered acq_rel
  mailbox mailbox_;

  // Constant.
  std::shared_ptr<system_core> core_;
  actor_cell* parent_;                ///< holds a reference: for the path
  std::list<child>::iterator place_;  ///< among the parent's children; for the parent's turn
  actor_id id_;
  std::string name_;
  const std::type_info* type_;  ///< null: the root's
  bool reentrant_;
  const bool is_reported_elsewhere_;
  std::int64_t stash_capacity_;

  std::atomic<std::uint64_t> children_made_{0};  ///< relaxed: a number each
  std::atomic<std::int64_t> restarts_{0};        ///< relaxed: for reports
  /// Messages whose handlers have begun and not finished: from before the shutdown, and after.
  /// Begun in a turn, finished by any thread. seq_cst with `settles_`: the last to finish checks
  /// whether the actor settles, and the actor, once it settles, checks whether any is left.
  std::array<std::atomic<std::int32_t>, 2> unfinished_{};
  std::atomic<bool> settles_{false};
  std::atomic<std::uint32_t> sends_waiting_{0};  ///< relaxed: whether `sends_` may be non-empty

  // Turn.
  std::atomic<phase> phase_ = phase::starting;  ///< written in turns; others read it for reports
  bool draining_ = false;
  bool answered_last_ = false;  ///< an asker waits for the last message
  actor_factory make_;
  std::unique_ptr<actor> actor_;
  turn_task* tasks_ = nullptr;
  std::unique_ptr<message_context> context_;  ///< the current message's
  std::shared_ptr<const settling> settling_;  ///< until all messages before the shutdown are done
  std::vector<message*> stash_;
  std::vector<std::shared_ptr<timer_state>> timers_;
  std::map<actor_id, standing_watch> watching_;
  supervision supervision_;
  failure_reason reason_;                 ///< for the current restart or stop; constant once `dead`
  std::vector<any_actor_ref> escalated_;  ///< wait for our supervisor, or have stopped since
  restart_history group_restarts_;
  timer_id backoff_{};                           ///< for our children's common restart
  std::unique_ptr<sibling_restart> siblings_;    ///< our children's, while it runs
  std::uint64_t sibling_step_ = 0;               ///< the last step that we asked of a child
  std::optional<std::uint64_t> asked_to_end_{};  ///< the step our supervisor waits for

  std::mutex tree_mutex_;      ///< guards the following
  std::list<child> children_;  ///< in the order of spawning; each entry is the turn's
  bool childless_ = false;     ///< takes no children any more
  bool ended_ = false;
  std::unique_ptr<audience> audience_;  ///< once there is any
  std::vector<waiting_send> sends_;     ///< in the order in which they came
};

/// Makes the thread act for a cell until the scope ends.
class turn_scope {
 public:
  explicit turn_scope(actor_cell& cell) noexcept;
  turn_scope(const turn_scope&) = delete;
  turn_scope& operator=(const turn_scope&) = delete;
  ~turn_scope();

 private:
  ambient_turn outer_;
};

}  // namespace troupe::detail
