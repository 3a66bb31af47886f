#pragma once

#include "core/dispatch/continuation_queue.hpp"

#include <troupe/base/export.hpp>
#include <troupe/core/future_state.hpp>

#include <utility>

namespace troupe::detail {

/// How a thread with duties waits: it continues to do them.
class wait_strategy {
 public:
  /// Returns once the state, if there is one, is ready, or the deadline has passed.
  virtual void wait_until(const future_state_base* state,
                          future_state_base::time_point deadline) noexcept = 0;

 protected:
  ~wait_strategy() = default;
};

/// Lets another thread do this one's work while it sleeps, because that may be what it sleeps for.
class stand_in {
 public:
  virtual void thread_sleeps() noexcept = 0;
  virtual void thread_wakes() noexcept = 0;

 protected:
  ~stand_in() = default;
};

/// A thread's duties to others, which no continuation must interrupt. A continuation is the
/// program's code: it may wait for anything, even for the next step of the thread that completed
/// its future. So a thread that completes futures during some work defers their continuations, and
/// runs them when its state is consistent.
///
/// Used by its own thread only.
class TROUPE_EXPORT deferred_continuations {
 public:
  [[nodiscard]] static deferred_continuations& mine() noexcept;

  /// While anything holds them, the continuations of this thread's completions are deferred.
  void hold() noexcept { ++holds_; }
  /// Runs the deferred ones, in order, when nothing else holds them. Not inside another one, unless
  /// that waits: a continuation that sends, and so completes others, would nest without end.
  void release() noexcept {
    --holds_;
    if (!runs_) run_put_off();
  }
  [[nodiscard]] bool holds() const noexcept { return holds_ > 0; }
  /// True while it holds continuations, or runs one.
  [[nodiscard]] bool is_busy() const noexcept { return holds_ > 0 || runs_; }
  /// Runs a continuation whose state is ready: at once, but after the one that it comes from, so
  /// that chains do not nest.
  void run_soon(continuation& next, future_state_base& state) noexcept {
    put_off_.push(next, state);
    if (!runs_) run_put_off();
  }
  [[nodiscard]] bool has_put_off() const noexcept { return !put_off_.empty(); }
  /// For another thread to run.
  [[nodiscard]] continuation_queue take_put_off() noexcept { return std::move(put_off_); }
  /// Lets other threads run the deferred ones. False, and they stay, if there are none.
  bool give_away() noexcept;
  /// Runs continuations that others gave away, on a thread without duties.
  void run(continuation_queue given) noexcept;

  /// From here on the thread waits in this way, except while it holds continuations; null: the
  /// default.
  void wait_by(wait_strategy* own) noexcept { own_ = own; }
  [[nodiscard]] wait_strategy* own_wait_strategy() const noexcept {
    return holds_ == 0 ? own_ : nullptr;
  }
  /// Is notified from here on when the thread sleeps for a future or for mailbox capacity.
  void work_with(stand_in* other) noexcept { stand_in_ = other; }
  /// Sleeps, or does its duties.
  void pause_until(future_state_base::time_point time) noexcept;

  /// While this exists, continuations are deferred.
  class holding {
   public:
    holding() noexcept { mine().hold(); }
    holding(const holding&) = delete;
    holding& operator=(const holding&) = delete;
    ~holding() { mine().release(); }
  };

  /// While this exists the thread waits. It may wait for a continuation that is deferred until the
  /// waiting one ends, so those run first.
  class waiting {
   public:
    explicit waiting(deferred_continuations& duties) noexcept
        : duties_(duties), ran_(std::exchange(duties.runs_, false)) {
      ++duties.waits_;
      duties.run_put_off();
    }
    waiting(const waiting&) = delete;
    waiting& operator=(const waiting&) = delete;
    ~waiting() {
      --duties_.waits_;
      duties_.runs_ = ran_;
    }

   private:
    deferred_continuations& duties_;
    const bool ran_;
  };

  /// While this exists the thread may sleep.
  class sleeping {
   public:
    sleeping() noexcept : other_(mine().stand_in_) {
      if (other_ != nullptr) other_->thread_sleeps();
    }
    sleeping(const sleeping&) = delete;
    sleeping& operator=(const sleeping&) = delete;
    ~sleeping() {
      if (other_ != nullptr) other_->thread_wakes();
    }

   private:
    stand_in* const other_;
  };

 private:
  void run_put_off() noexcept {
    if (holds_ == 0 && !put_off_.empty()) run_all();
  }
  void run_all() noexcept;

  unsigned holds_ = 0;
  unsigned waits_ = 0;
  bool runs_ = false;  // one that does not wait
  continuation_queue put_off_;
  wait_strategy* own_ = nullptr;
  stand_in* stand_in_ = nullptr;
};

}  // namespace troupe::detail
