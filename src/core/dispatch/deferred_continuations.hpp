#pragma once

#include "core/dispatch/continuation_queue.hpp"

#include <troupe/base/export.hpp>
#include <troupe/core/future_state.hpp>

#include <utility>

namespace troupe::detail {

/// How a thread waits that others rely on: it goes on with what it does for them.
class wait_strategy {
 public:
  /// Returns once the state, where there is one, is ready, or the deadline has passed.
  virtual void wait_until(const future_state_base* state,
                          future_state_base::time_point deadline) noexcept = 0;

 protected:
  ~wait_strategy() = default;
};

/// Has somebody else do a thread's work while that sleeps: it may be what it sleeps for.
class stand_in {
 public:
  virtual void thread_sleeps() noexcept = 0;
  virtual void thread_wakes() noexcept = 0;

 protected:
  ~stand_in() = default;
};

/// What a thread owes to others, and so must not leave undone for a continuation's sake. A
/// continuation is the program's: it may wait for anything, also for what the completing thread
/// would have to do next. So whoever completes futures in the middle of something holds it up, and
/// lets it run where nothing is half done.
///
/// Touched by its own thread only.
class TROUPE_EXPORT deferred_continuations {
 public:
  [[nodiscard]] static deferred_continuations& mine() noexcept;

  /// While anything holds them, the continuations of what this thread completes are put off.
  void hold() noexcept { ++holds_; }
  /// Runs what was put off, in order, when nothing else holds it. Not below one of those, unless
  /// that waits: one that sends, and so hears of others, or finds answered what it sent, would nest
  /// without end.
  void release() noexcept {
    --holds_;
    if (!runs_) run_put_off();
  }
  [[nodiscard]] bool holds() const noexcept { return holds_ > 0; }
  /// True while it holds continuations, or is in one.
  [[nodiscard]] bool is_busy() const noexcept { return holds_ > 0 || runs_; }
  /// Runs one whose state is ready: at once, but after the one that it comes from, so that chains
  /// do not nest.
  void run_soon(continuation& next, future_state_base& state) noexcept {
    put_off_.push(next, state);
    if (!runs_) run_put_off();
  }
  [[nodiscard]] bool has_put_off() const noexcept { return !put_off_.empty(); }
  /// For another thread to run.
  [[nodiscard]] continuation_queue take_put_off() noexcept { return std::move(put_off_); }
  /// Has other threads run what was put off. False, and nothing is given, where there are none.
  bool give_away() noexcept;
  /// Runs what others have given away, on a thread that holds nothing up.
  void run(continuation_queue given) noexcept;

  /// From here on the thread waits so, but for what it waits for while it holds continuations;
  /// null: as any other.
  void wait_by(wait_strategy* own) noexcept { own_ = own; }
  [[nodiscard]] wait_strategy* own_wait_strategy() const noexcept {
    return holds_ == 0 ? own_ : nullptr;
  }
  /// Told from here on when the thread sleeps until a future is ready, or there is room.
  void work_with(stand_in* other) noexcept { stand_in_ = other; }
  /// Sleeps, or does its duties.
  void pause_until(future_state_base::time_point time) noexcept;

  /// While this lives, continuations are put off.
  class holding {
   public:
    holding() noexcept { mine().hold(); }
    holding(const holding&) = delete;
    holding& operator=(const holding&) = delete;
    ~holding() { mine().release(); }
  };

  /// While this lives the thread waits. What was put off until the continuation that waits has
  /// ended may be what it waits for, and runs first.
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

  /// While this lives the thread may sleep.
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
