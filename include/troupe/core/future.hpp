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

/// The error that stands for the exception in flight: a `failure`'s own, else `handler_failed`.
/// Inline, so that the C++ runtime that caught the exception rethrows it: a program that links
/// libstdc++ statically has one of its own, and another's knows of no exception.
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

[[nodiscard]] TROUPE_EXPORT error abandoned_promise_error();
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

/// The side that answers. Destroyed without an answer it answers `errc::no_reply`.
/// Only the first answer counts; what waits, wakes; a continuation runs when `then` says.
template <class T>
class promise {
 public:
  promise() : state_(detail::make_pooled<detail::future_state<T>>()) {}

  /// A thread that waits for the future calls `helper` meanwhile.
  explicit promise(completion_driver* helper) : promise() { state_->set_driver(helper); }

  /// Nobody asks: answers go nowhere. To be assigned to.
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

  void set_error(error e) {
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

  /// Nobody waits for the answer any more: the future has been let go or has timed out, or the one
  /// that `then` made of it, if its function returns something: one that returns nothing wants the
  /// answer for itself.
  /// Of a chain of many links one that is far away may be missed.
  [[nodiscard]] bool abandoned() const noexcept { return in_vain(100); }

  /// For the runtime: `abandoned`, looking as far as `links` allows.
  [[nodiscard]] bool in_vain(int links) const noexcept {
    return state_ == nullptr || state_->in_vain(links);
  }
  /// For the runtime: its own future has been let go, whatever was made of it.
  [[nodiscard]] bool let_go() const noexcept { return state_ == nullptr || state_->abandoned(); }

  /// Not answered yet.
  [[nodiscard]] bool pending() const noexcept { return state_ != nullptr; }

  /// For the runtime: the state is the one that it will complete.
  [[nodiscard]] bool answers(const future_state_base& state) const noexcept {
    return state_ == &state;
  }

  /// For the runtime: what the answer continues, if that has been attached by now.
  [[nodiscard]] detail::continuation* attached() const noexcept {
    return state_ == nullptr ? nullptr : state_->attached();
  }
  /// For the runtime: answers what `other` did. What was attached to this one is the caller's.
  void become(promise other) noexcept {
    std::swap(state_, other.state_);
    std::exchange(other.state_, nullptr)->destroy();
  }

 private:
  detail::future_state<T>* state_;
};

/// The side that waits. Letting it go neither waits nor cancels the work.
/// `get`, `get_result`, `then`, `timeout` and `co_await` use it up; what is asked of it after that,
/// but for `valid`, throws `failure` (`errc::invalid_argument`), or answers it where it answers
/// errors.
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

  /// False when default-constructed, moved from or used up.
  [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }
  [[nodiscard]] bool ready() const { return state().ready(); }

  /// Blocks: spins for a short bounded time, then sleeps.
  void wait() const { state().wait_until(std::chrono::steady_clock::time_point::max()); }

  /// Blocks until ready or the deadline; true if ready.
  bool wait_until(std::chrono::steady_clock::time_point deadline) const {
    return state().wait_until(deadline);
  }
  bool wait_for(std::chrono::nanoseconds patience) const {
    return wait_until(detail::deadline_after(std::chrono::steady_clock::now(), patience));
  }

  /// Blocks; the value, or throws `failure`.
  T get() {
    wait();
    const detail::state_guard guard(*state_);
    detail::future_state<T>& state = *std::exchange(state_, nullptr);
    if (state.failed()) [[unlikely]] {
      return state.take().value();
    }
    if constexpr (!std::is_void_v<T>) return std::move(state.value());
  }

  /// Blocks; the value or the error.
  result<T> get_result() {
    if (state_ == nullptr) [[unlikely]]
      return detail::no_future_error();
    wait();
    return take();
  }

  /// The outcome, if ready; else the future stays as it is and the error is `errc::timed_out`.
  result<T> try_get() {
    if (state_ == nullptr) [[unlikely]]
      return detail::no_future_error();
    if (ready()) return take();
    return error{.code = errc::timed_out, .message = "the future is not ready"};
  }

  /// A future of what `f` makes of this one's outcome. `f` takes a `result<T>`, or a `T` (nothing
  /// for void): then an error skips it. If it returns a `result<U>` or a `future<U>`, the new
  /// future is of `U`. What it throws becomes the error.
  ///
  /// `f` runs on the completing thread, inside the completing call, or at once if this future is
  /// ready; but not inside another continuation: then after that one, or when that one waits for a
  /// future. So a chain of any length needs no more of the stack than one. A device's answer
  /// continues on the device's thread for them, or on whichever thread waits for the device; that a
  /// time limit has passed, on a thread for it. `f` may wait, for the same device as well; what
  /// comes behind it is late by as much.
  template <class F>
  auto then(F&& f);

  /// This future, or `errc::timed_out` once `patience` has passed, or `errc::system_error` at once
  /// where there is no thread for timers and none can be started. The work itself goes on.
  future timeout(std::chrono::nanoseconds patience);

  /// For what derives from futures: gives the shared state away.
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
