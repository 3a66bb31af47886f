#pragma once

#include <troupe/core/future.hpp>
#include <troupe/core/resume_target.hpp>

#include <coroutine>
#include <exception>
#include <optional>

namespace troupe {

template <class T>
class task;

namespace detail {

struct task_promise_base {
  std::coroutine_handle<> waiter = nullptr;    ///< the coroutine that awaits this one
  void (*finished)(void*) noexcept = nullptr;  ///< called if none awaits; may destroy the frame
  void* finished_argument = nullptr;
  resume_target* home = nullptr;  ///< resumes the coroutine; not owned, outlives it
  std::exception_ptr exception;

  struct final_awaiter {
    bool await_ready() const noexcept { return false; }
    template <class P>
    void await_suspend(std::coroutine_handle<P> ended) const noexcept {
      task_promise_base& p = ended.promise();
      if (p.waiter) {
        hand_over(ended, p.waiter);
      } else if (p.finished != nullptr) {
        p.finished(p.finished_argument);
      }
    }
    void await_resume() const noexcept {}
  };

  std::suspend_always initial_suspend() const noexcept { return {}; }
  final_awaiter final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { exception = std::current_exception(); }
};

template <class T>
struct task_promise final : task_promise_base {
  task<T> get_return_object() noexcept;
  template <class U>
  void return_value(U&& v) {
    value.emplace(std::forward<U>(v));
  }
  T take() {
    if (exception) std::rethrow_exception(std::exchange(exception, nullptr));
    return std::move(*value);
  }
  std::optional<T> value;
};

template <>
struct task_promise<void> final : task_promise_base {
  task<void> get_return_object() noexcept;
  void return_void() const noexcept {}
  void take() {
    if (exception) std::rethrow_exception(std::exchange(exception, nullptr));
  }
};

template <class T>
struct task_awaiter {
  std::coroutine_handle<task_promise<T>> awaited;
  bool await_ready() const noexcept { return false; }
  template <class P>
  void await_suspend(std::coroutine_handle<P> waiter) const noexcept {
    awaited.promise().waiter = waiter;
    if constexpr (std::is_base_of_v<task_promise_base, P>) {
      awaited.promise().home = waiter.promise().home;
    }
    hand_over(waiter, awaited);
  }
  T await_resume() const { return awaited.promise().take(); }
};

}  // namespace detail

/// A coroutine that starts when it is awaited or passed to `start`. It may await futures and other
/// tasks. If an actor's handler started it, it always resumes in a turn of that actor; else it
/// resumes on the thread that completes the awaited object. Destroying a task destroys the
/// coroutine.
template <class T>
class [[nodiscard]] task {
 public:
  using promise_type = detail::task_promise<T>;
  using value_type = T;

  task(task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  task& operator=(task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~task() {
    if (handle_) handle_.destroy();
  }

  /// Runs the task where the awaiting coroutine runs. Returns its value or rethrows its exception.
  auto operator co_await() && noexcept { return detail::task_awaiter<T>{handle_}; }

  // For code that starts tasks.
  [[nodiscard]] std::coroutine_handle<promise_type> handle() const noexcept { return handle_; }

 private:
  friend promise_type;
  explicit task(std::coroutine_handle<promise_type> h) noexcept : handle_(h) {}
  std::coroutine_handle<promise_type> handle_;
};

namespace detail {

template <class T>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<task<T>> = true;
template <class U>
struct flattened<task<U>> {
  using type = U;
};

template <class T>
task<T> task_promise<T>::get_return_object() noexcept {
  return task<T>(std::coroutine_handle<task_promise>::from_promise(*this));
}
inline task<void> task_promise<void>::get_return_object() noexcept {
  return task<void>(std::coroutine_handle<task_promise>::from_promise(*this));
}

/// Suspends until the future is ready. The node is shared with the completion, because the
/// coroutine may be destroyed (its actor stops) before the future completes.
template <class T, bool AsResult>
class future_awaiter {
 public:
  explicit future_awaiter(future<T> source) noexcept : source_(std::move(source)) {}
  future_awaiter(const future_awaiter&) = delete;
  future_awaiter& operator=(const future_awaiter&) = delete;
  ~future_awaiter() {
    if (node_ != nullptr) node_->leave();
  }

  bool await_ready() const { return source_.ready(); }

  template <class P>
  void await_suspend(std::coroutine_handle<P> waiter) {
    resume_target* home = nullptr;
    if constexpr (std::is_base_of_v<task_promise_base, P>) home = waiter.promise().home;
    node_ = suspended_wait::make(waiter, home);
    source_.release_state().continue_with(*node_);
  }

  auto await_resume() {
    if constexpr (AsResult) {
      return take();
    } else {
      return take().value();
    }
  }

 private:
  result<T> take() {
    if (node_ == nullptr) return source_.get_result();
    return static_cast<future_state<T>&>(node_->completed()).take();
  }

  future<T> source_;
  suspended_wait* node_ = nullptr;
};

}  // namespace detail

/// `co_await std::move(f)`, or `co_await` of a temporary future: the value, or throws `failure`.
template <class T>
auto operator co_await(future<T>&& source) {
  return detail::future_awaiter<T, false>(std::move(source));
}
/// `co_await f` consumes `f`, as `get()` does.
template <class T>
auto operator co_await(future<T>& source) {
  return detail::future_awaiter<T, false>(std::move(source));
}

template <class T>
struct awaited_result {
  future<T> source;
  auto operator co_await() && { return detail::future_awaiter<T, true>(std::move(source)); }
};

/// `co_await as_result(std::move(f))` gives a `result<T>` and never throws.
template <class T>
[[nodiscard]] awaited_result<T> as_result(future<T> source) {
  return {std::move(source)};
}

/// Starts a task from outside a coroutine. It runs on this thread until it first suspends.
template <class T>
future<T> start(task<T> work) {
  struct run {
    task<T> work;
    promise<T> sink;
    static void finished(void* argument) noexcept {
      const std::unique_ptr<run> me(static_cast<run*>(argument));
      detail::answer_with<T>(me->sink, [&] { return me->work.handle().promise().take(); });
    }
  };
  promise<T> sink;
  future<T> outcome = sink.get_future();
  auto* started = new run{std::move(work), std::move(sink)};
  auto handle = started->work.handle();
  handle.promise().finished = &run::finished;
  handle.promise().finished_argument = started;
  detail::resume(handle);
  return outcome;
}

}  // namespace troupe
