#pragma once

#include <troupe/base/export.hpp>
#include <troupe/base/result.hpp>
#include <troupe/core/block_pool.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

namespace troupe {

class completion_driver;
class future_state_base;

namespace detail {

/// Runs on the completing thread and takes ownership of the state. It runs at once, or soon after
/// if that thread is busy, for example in another continuation.
struct continuation {
  void (*run)(continuation& self, future_state_base& state) noexcept = nullptr;
  /// Whether the result of `run` is not awaited any more. Called by the promise, which alone lets
  /// `run` start. Null means that it is awaited. At most `links` further continuations are
  /// examined.
  bool (*in_vain)(const continuation& self, int links) noexcept = nullptr;
  // While it is put off:
  continuation* after = nullptr;
  future_state_base* source = nullptr;
};

}  // namespace detail

/// The state shared by a promise and its future.
///
/// Ownership: the promise owns the state until it completes it, then the future does; there is no
/// reference count. All hand-over goes through `status_`:
///   - The promise writes the value, then exchanges `status_` for `completed` (acq_rel). Release
///     publishes the value. Acquire makes a continuation visible that was stored before its bit was
///     set. If the old status was 0, the promise never touches the state again.
///   - The future adds `parked`, `continued` or `abandoned` by compare-exchange or fetch_or
///     (acq_rel), and reads `completed` with acquire. Whichever side comes second sees the other's
///     bit, because both are read-modify-writes of one atomic. If `continued` or `abandoned` is
///     set, the completer owns the state.
/// After an exchange that returned `parked`, the completer wakes the address without reading it.
/// The block may be in use again by then. A stray wake is harmless, because every waiter re-checks.
class TROUPE_EXPORT future_state_base {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  future_state_base(const future_state_base&) = delete;
  future_state_base& operator=(const future_state_base&) = delete;

  [[nodiscard]] bool ready() const noexcept {
    return (status_.load(std::memory_order_acquire) & completed) != 0;
  }

  /// True if the future was dropped. Relaxed: a reader uses it only to skip work.
  [[nodiscard]] bool abandoned() const noexcept {
    return (status_.load(std::memory_order_relaxed) & abandoned_bit) != 0;
  }

  /// Called by the promise: true if the future, or everything derived from it, was dropped. After
  /// `links` links the answer is false: a chain is examined recursively and may be longer than the
  /// stack allows.
  [[nodiscard]] bool in_vain(int links) const noexcept {
    const std::uint32_t status = status_.load(std::memory_order_acquire);
    if ((status & continued) == 0) return (status & abandoned_bit) != 0;
    return links > 0 && continuation_->in_vain != nullptr &&
           continuation_->in_vain(*continuation_, links - 1);
  }

  [[nodiscard]] completion_driver* driver() const noexcept { return driver_; }

  /// Waits with the driver if there is one, else with `spin_until` and `park_until`. True if ready.
  bool wait_until(time_point deadline) const noexcept;

  /// Spins for a bounded, adaptive time, then parks. True if ready.
  bool spin_until(time_point deadline) const noexcept;

  /// Sleeps until the completer wakes this thread or the deadline passes. True if ready.
  bool park_until(time_point deadline) const noexcept;

  /// For drivers that sleep on several addresses: tells the completer that a thread sleeps on
  /// `word()`. Returns the value to sleep on, or nothing if the state is ready.
  [[nodiscard]] std::optional<std::uint32_t> announce_sleeper() const noexcept;
  [[nodiscard]] const std::atomic<std::uint32_t>& word() const noexcept { return status_; }

  // For promise, future and code that derives futures.

  using destroyer = void (*)(future_state_base&) noexcept;

  void destroy() noexcept { destroy_(*this); }
  void open() noexcept { status_.store(0, std::memory_order_relaxed); }

  /// Call before the state is shared.
  void set_driver(completion_driver* helper) noexcept;

  /// Call after the value has been written.
  void complete() noexcept {
    const std::uint32_t before = status_.exchange(completed, std::memory_order_acq_rel);
    if (before != 0) complete_for(before);
  }

  /// Gives the state to `next`, which runs at completion. If the state is already complete, `next`
  /// runs now, or, inside another continuation, when that one has ended.
  void continue_with(detail::continuation& next) noexcept;

  /// Called by the promise before it completes the state: the attached continuation, or null.
  [[nodiscard]] detail::continuation* attached() const noexcept {
    return (status_.load(std::memory_order_acquire) & continued) != 0 ? continuation_ : nullptr;
  }

  /// Called when the future is dropped.
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

  // A state is abandoned until a future is taken from its promise.
  mutable std::atomic<std::uint32_t> status_{abandoned_bit};
  destroyer destroy_;
  completion_driver* driver_ = nullptr;
  detail::continuation* continuation_ = nullptr;
};

namespace detail {

struct nothing {};

template <class T>
using stored = std::conditional_t<std::is_void_v<T>, nothing, T>;

/// The error is stored separately, so that a small value shares a cache line with the status.
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

  // `complete()` follows.
  template <class... Args>
  void write_value(Args&&... args) {
    ::new (static_cast<void*>(&value_)) stored<T>(std::forward<Args>(args)...);
    holds_value_ = true;
  }

  // Null if there is no memory for it: the completing thread cannot report that.
  void write_error(error e) noexcept {
    error_ = new (std::nothrow) error(std::move(e));
    failed_ = true;
  }

  /// Precondition: ready.
  [[nodiscard]] result<T> take() {
    if (failed_) [[unlikely]]
      return error_ != nullptr ? std::move(*error_) : error{.code = errc::out_of_memory};
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

/// Destroys a state at the end of the scope.
struct state_guard {
  explicit state_guard(future_state_base& held) noexcept : state(held) {}
  state_guard(const state_guard&) = delete;
  state_guard& operator=(const state_guard&) = delete;
  ~state_guard() { state.destroy(); }
  future_state_base& state;
};

}  // namespace detail
}  // namespace troupe
