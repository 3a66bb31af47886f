#pragma once

#include <troupe/base/export.hpp>
#include <troupe/base/result.hpp>
#include <troupe/core/block_pool.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

namespace troupe {

class completion_driver;
class future_state_base;

namespace detail {

/// Runs on the completing thread and takes the state over: at once, or, where that thread is in the
/// middle of something, another continuation included, soon.
struct continuation {
  void (*run)(continuation& self, future_state_base& state) noexcept = nullptr;
  /// Nobody waits for what `run` would bring about. Called by the promise, which alone lets it run.
  /// Null: somebody does. What follows is looked at as far as `links` allows.
  bool (*in_vain)(const continuation& self, int links) noexcept = nullptr;
  // While it is put off:
  continuation* after = nullptr;
  future_state_base* source = nullptr;
};

}  // namespace detail

/// What a promise and its future share.
///
/// Owners: the promise until it completes the state, then the future; there is no reference count.
/// All hand-over goes through `status_`:
///   - the promise writes the value, then exchanges `status_` for `completed` (acq_rel). Release
///     publishes the value; acquire makes a continuation, stored before its bit was set, visible.
///     If the old status was 0, the promise never touches the state again.
///   - the future adds `parked`, `continued` or `abandoned` by a compare-exchange or fetch_or
///     (acq_rel) and reads `completed` with acquire. Whoever comes second sees the other's bit,
///     because both are read-modify-writes of one atomic. With `continued` or `abandoned` set, the
///     completer owns the state.
/// After an exchange that returned `parked` the completer wakes the address without reading it: the
/// block may be in use again by then, and a stray wake is harmless since every waiter re-checks.
class TROUPE_EXPORT future_state_base {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  future_state_base(const future_state_base&) = delete;
  future_state_base& operator=(const future_state_base&) = delete;

  [[nodiscard]] bool ready() const noexcept {
    return (status_.load(std::memory_order_acquire) & completed) != 0;
  }

  /// The future has let go. Relaxed: whoever reads it may only save itself work.
  [[nodiscard]] bool abandoned() const noexcept {
    return (status_.load(std::memory_order_relaxed) & abandoned_bit) != 0;
  }

  /// By the promise: the future, or what was made of it, has let go. At the end of `links` somebody
  /// may still wait: a chain is looked at link below link, and may be longer than the stack.
  [[nodiscard]] bool in_vain(int links) const noexcept {
    const std::uint32_t status = status_.load(std::memory_order_acquire);
    if ((status & continued) == 0) return (status & abandoned_bit) != 0;
    return links > 0 && continuation_->in_vain != nullptr &&
           continuation_->in_vain(*continuation_, links - 1);
  }

  [[nodiscard]] completion_driver* driver() const noexcept { return driver_; }

  /// Waits by the driver where there is one, else by `spin_until` and `park_until`. True: ready.
  bool wait_until(time_point deadline) const noexcept;

  /// Spins for a bounded, adaptive time, then parks. True: ready.
  bool spin_until(time_point deadline) const noexcept;

  /// Sleeps until the completer wakes this thread or the deadline passes. True: ready.
  bool park_until(time_point deadline) const noexcept;

  /// For drivers that sleep on something else as well: tells the completer that somebody sleeps on
  /// `word()`. Answers the value to sleep on, or nothing when the state is ready.
  [[nodiscard]] std::optional<std::uint32_t> announce_sleeper() const noexcept;
  [[nodiscard]] const std::atomic<std::uint32_t>& word() const noexcept { return status_; }

  // For promise, future and what derives from futures.

  using destroyer = void (*)(future_state_base&) noexcept;

  void destroy() noexcept { destroy_(*this); }
  void open() noexcept { status_.store(0, std::memory_order_relaxed); }

  /// Before the state is shared.
  void set_driver(completion_driver* helper) noexcept;

  /// After the value was written.
  void complete() noexcept {
    const std::uint32_t before = status_.exchange(completed, std::memory_order_acq_rel);
    if (before != 0) complete_for(before);
  }

  /// Gives the state to `next`, which runs at completion, or, if that has been, now: in a
  /// continuation when that has ended.
  void continue_with(detail::continuation& next) noexcept;

  /// By the promise, before it completes the state: what the state has been given to, or null.
  [[nodiscard]] detail::continuation* attached() const noexcept {
    return (status_.load(std::memory_order_acquire) & continued) != 0 ? continuation_ : nullptr;
  }

  /// The future lets go.
  void abandon() noexcept;

 protected:
  explicit future_state_base(destroyer how) noexcept : destroy_(how) {}
  ~future_state_base();

 private:
  static constexpr std::uint32_t completed = 1;
  static constexpr std::uint32_t parked = 2;
  static constexpr std::uint32_t continued = 4;
  static constexpr std::uint32_t abandoned_bit = 8;

  void complete_for(std::uint32_t before) noexcept;

  // Until a future is taken from its promise nobody waits.
  mutable std::atomic<std::uint32_t> status_{abandoned_bit};
  destroyer destroy_;
  completion_driver* driver_ = nullptr;
  detail::continuation* continuation_ = nullptr;
};

namespace detail {

struct nothing {};

template <class T>
using stored = std::conditional_t<std::is_void_v<T>, nothing, T>;

/// The error is held apart, so that a small value shares a cache line with its status.
template <class T>
class future_state final : public future_state_base {
 public:
  future_state() noexcept : future_state_base(&destroy_state) {}

  ~future_state() {
    if (failed_) {
      delete error_;
    } else if (holds_value_) {
      value_.~stored<T>();
    }
  }

  // Then `complete()`.
  template <class... Args>
  void write_value(Args&&... args) {
    ::new (static_cast<void*>(&value_)) stored<T>(std::forward<Args>(args)...);
    holds_value_ = true;
  }

  void write_error(error e) {
    error_ = new error(std::move(e));
    failed_ = true;
  }

  /// Precondition: ready.
  [[nodiscard]] result<T> take() {
    if (failed_) return std::move(*error_);
    if constexpr (std::is_void_v<T>) {
      return {};
    } else {
      return std::move(value_);
    }
  }

  /// Precondition: ready and without failure.
  [[nodiscard]] stored<T>& value() noexcept { return value_; }
  [[nodiscard]] bool failed() const noexcept { return failed_; }

 private:
  static void destroy_state(future_state_base& base) noexcept {
    drop_pooled(static_cast<future_state*>(&base));
  }

  // Written before completion, read after it.
  bool holds_value_ = false;
  bool failed_ = false;
  union {
    stored<T> value_;
    error* error_;
  };
};

/// Hands a state back to its pool when the scope ends.
struct state_guard {
  explicit state_guard(future_state_base& held) noexcept : state(held) {}
  state_guard(const state_guard&) = delete;
  state_guard& operator=(const state_guard&) = delete;
  ~state_guard() { state.destroy(); }
  future_state_base& state;
};

}  // namespace detail
}  // namespace troupe
