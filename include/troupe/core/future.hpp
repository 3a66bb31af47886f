#pragma once

#include <troupe/base/error.hpp>
#include <troupe/base/result.hpp>
#include <troupe/core/completion_driver.hpp>
#include <troupe/core/deadline.hpp>
#include <troupe/core/future_state.hpp>

#include <chrono>
#include <concepts>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

namespace troupe {

template <class T>
class future;

namespace detail {

/// The error for the current exception: a `failure`'s own error, else `handler_failed`. Inline, so
/// that the exception is rethrown by the C++ runtime that caught it: a program that links libstdc++
/// statically has its own runtime, which does not know the exceptions of another one.
[[nodiscard]] inline error current_exception_error() noexcept {
  try {
    throw;
  } catch (const failure& f) {
    return f.error();
  } catch (const std::bad_alloc&) {
    return error{.code = errc::out_of_memory, .message = "host memory is exhausted"};
  } catch (const std::exception& e) {
    return error{.code = errc::handler_failed, .message = e.what()};
  } catch (...) {
    return error{.code = errc::handler_failed, .message = "an exception of unknown type"};
  }
}

[[nodiscard]] TROUPE_EXPORT error abandoned_promise_error() noexcept;
[[nodiscard]] TROUPE_EXPORT error no_future_error();
[[noreturn]] TROUPE_EXPORT void throw_no_future();

struct no_state_t {};
inline constexpr no_state_t no_state{};

template <class T>
inline constexpr bool is_result = false;
template <class T>
inline constexpr bool is_result<result<T>> = true;
template <class T>
inline constexpr bool is_future = false;
template <class T>
inline constexpr bool is_future<future<T>> = true;

}  // namespace detail

/// The producing side of a future. If destroyed without an answer, it answers `errc::no_reply`.
/// Only the first answer counts. It wakes the threads that wait; for continuations see
/// `future::then`.
template <class T>
class promise {
 public:
  promise() : state_(detail::make_pooled<detail::future_state<T>>()) {}

  /// A thread that waits for the future calls `helper` meanwhile.
  explicit promise(completion_driver* helper) : promise() { state_->set_driver(helper); }

  /// A promise without a state: answers are discarded. Meant to be assigned to.
  explicit promise(detail::no_state_t) noexcept : state_(nullptr) {}

  promise(promise&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  promise& operator=(promise&& other) noexcept {
    promise moved(std::move(other));
    std::swap(state_, moved.state_);
    return *this;
  }
  ~promise() {
    if (state_ != nullptr) set_error(detail::abandoned_promise_error());
  }

  /// Precondition: called at most once, before the answer.
  [[nodiscard]] future<T> get_future() noexcept {
    state_->open();
    return future<T>(state_);
  }

  template <class... Args>
    requires std::constructible_from<detail::stored<T>, Args...>
  void set_value(Args&&... args) {
    if (state_ == nullptr) return;
    // Constructing the value may throw; then the promise is still open.
    state_->write_value(std::forward<Args>(args)...);
    std::exchange(state_, nullptr)->complete();
  }

  void set_error(error e) noexcept {
    if (state_ == nullptr) return;
    state_->write_error(std::move(e));
    std::exchange(state_, nullptr)->complete();
  }

  void set_result(result<T> outcome) {
    if (!outcome) {
      set_error(std::move(outcome).error());
    } else if constexpr (std::is_void_v<T>) {
      set_value();
    } else {
      set_value(*std::move(outcome));
    }
  }

  /// True if the answer is no longer awaited: the future was dropped or has timed out. The same
  /// holds for a future that `then` derived from it, unless the function given to `then` returns
  /// void: such a function uses the answer itself. In a chain of more than 100 links the end is not
  /// examined, and the result may be false.
  [[nodiscard]] bool abandoned() const noexcept { return in_vain(100); }

  /// For the runtime: `abandoned`, examining at most `links` links.
  [[nodiscard]] bool in_vain(int links) const noexcept {
    return state_ == nullptr || state_->in_vain(links);
  }
  /// For the runtime: its own future was dropped, whatever was derived from it.
  [[nodiscard]] bool let_go() const noexcept { return state_ == nullptr || state_->abandoned(); }

  /// True if not answered yet.
  [[nodiscard]] bool pending() const noexcept { return state_ != nullptr; }

  /// For the runtime: whether `state` is the one that this promise will complete.
  [[nodiscard]] bool answers(const future_state_base& state) const noexcept {
    return state_ == &state;
  }

  /// For the runtime: the continuation attached so far, or null.
  [[nodiscard]] detail::continuation* attached() const noexcept {
    return state_ == nullptr ? nullptr : state_->attached();
  }
  /// For the runtime: takes over the state of `other`. The caller has taken over any continuation
  /// that was attached to this one.
  void become(promise other) noexcept {
    std::swap(state_, other.state_);
    std::exchange(other.state_, nullptr)->destroy();
  }

 private:
  detail::future_state<T>* state_;
};

/// The consuming side. Dropping it neither waits for the work nor cancels it. `get`, `get_result`,
/// `then`, `timeout` and `co_await` consume the future. After that, every function except `valid`
/// fails with `errc::invalid_argument`: it returns the error if it returns a `result`, else throws
/// `failure`.
template <class T>
class [[nodiscard]] future {
 public:
  using value_type = T;

  future() = default;
  future(future&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  future& operator=(future&& other) noexcept {
    future moved(std::move(other));
    std::swap(state_, moved.state_);
    return *this;
  }
  ~future() {
    if (state_ != nullptr) state_->abandon();
  }

  /// False if default-constructed, moved from or consumed.
  [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }
  [[nodiscard]] bool ready() const { return state().ready(); }

  /// Blocks: spins for a short bounded time, then sleeps.
  void wait() const { state().wait_until(std::chrono::steady_clock::time_point::max()); }

  /// Blocks until ready or the deadline; true if ready.
  bool wait_until(std::chrono::steady_clock::time_point deadline) const {
    return state().wait_until(deadline);
  }
  bool wait_for(std::chrono::nanoseconds timeout) const {
    return wait_until(detail::deadline_after(std::chrono::steady_clock::now(), timeout));
  }

  /// Blocks; returns the value or throws `failure`.
  T get() {
    wait();
    const detail::state_guard guard(*state_);
    detail::future_state<T>& state = *std::exchange(state_, nullptr);
    if (state.failed()) [[unlikely]] {
      return state.take().value();
    }
    if constexpr (!std::is_void_v<T>) return std::move(state.value());
  }

  /// Blocks; returns the value or the error.
  result<T> get_result() {
    if (state_ == nullptr) [[unlikely]]
      return detail::no_future_error();
    wait();
    return take();
  }

  /// The outcome if ready, which consumes the future; else `errc::timed_out`, and the future stays
  /// valid.
  result<T> try_get() {
    if (state_ == nullptr) [[unlikely]]
      return detail::no_future_error();
    if (ready()) return take();
    return error{.code = errc::timed_out, .message = "the future is not ready"};
  }

  /// Returns a future of what `f` makes of this one's outcome. If `f` takes a `result<T>`, it is
  /// always called. If it takes a `T` (or nothing, for void), an error skips it. If `f` returns a
  /// `result<U>` or a `future<U>`, the new future is of `U`. An exception from `f` becomes the
  /// error.
  ///
  /// `f` runs on the completing thread, inside the completing call, or immediately if this future
  /// is ready. Continuations do not nest: inside another continuation, `f` runs after that one, or
  /// when that one waits for a future. So a chain of any length uses the stack of a single
  /// continuation. Continuations of a device's answers run on the device's continuation thread, or
  /// on a thread that waits for the device; those of an expired time limit run on a thread for that
  /// purpose. `f` may block, even on the same device; it delays the continuations behind it.
  template <class F>
  auto then(F&& f);

  /// This future, or `errc::timed_out` once `timeout` has passed. Fails at once with
  /// `errc::system_error` if the timer thread cannot be started. The work itself is not
  /// interrupted.
  future timeout(std::chrono::nanoseconds timeout);

  /// For code that derives futures: releases the shared state to the caller.
  [[nodiscard]] detail::future_state<T>& release_state() {
    detail::future_state<T>& given = state();
    state_ = nullptr;
    return given;
  }
  [[nodiscard]] completion_driver* driver() const { return state().driver(); }

 private:
  friend class promise<T>;
  explicit future(detail::future_state<T>* state) noexcept : state_(state) {}

  [[nodiscard]] detail::future_state<T>& state() const {
    if (state_ == nullptr) [[unlikely]]
      detail::throw_no_future();
    return *state_;
  }
  result<T> take() {
    const detail::state_guard guard(*state_);
    return std::exchange(state_, nullptr)->take();
  }

  detail::future_state<T>* state_ = nullptr;
};

/// A future that is ready.
template <class T>
[[nodiscard]] future<T> make_ready_future(T value) {
  promise<T> source;
  future<T> ready = source.get_future();
  source.set_value(std::move(value));
  return ready;
}
[[nodiscard]] TROUPE_EXPORT future<void> make_ready_future();

/// A future that has failed.
template <class T>
[[nodiscard]] future<T> make_failed_future(error e) {
  promise<T> source;
  future<T> failed = source.get_future();
  source.set_error(std::move(e));
  return failed;
}

}  // namespace troupe

#include <troupe/core/future_then.hpp>
