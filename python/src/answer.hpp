#pragma once

#include <troupe/core/future.hpp>
#include <troupe/device/mapped_tensor.hpp>
#include <troupe/device/request_graph.hpp>
#include <troupe/request/any_request.hpp>

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <variant>
#include <vector>

namespace troupe::python {

namespace nb = nanobind;

/// A Python object on its way between threads. Other threads may destroy it: they take the GIL
/// first.
class carried_object {
 public:
  carried_object() = default;
  explicit carried_object(nb::object o) noexcept : object_(o.release().ptr()) {}
  carried_object(carried_object&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)) {}
  carried_object& operator=(carried_object&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~carried_object();

  /// With the GIL.
  [[nodiscard]] nb::object take() noexcept { return nb::steal(std::exchange(object_, nullptr)); }
  [[nodiscard]] nb::handle get() const noexcept { return object_; }

 private:
  PyObject* object_ = nullptr;
};

/// The answer of any C++ future of the binding.
using answer =
    std::variant<std::monostate, error, any_reply, mapped_tensor, carried_object, graph_replies>;

class listener;

/// A pending answer, with two ways to wait for it. Blocking threads wait for the C++ future itself,
/// and help with completions meanwhile. Once a listener (an event loop) attaches, a continuation
/// takes the answer instead and wakes every waiting thread. It holds no Python objects of its own,
/// so
/// any thread may drop it.
/// All functions but `arrive` are called with the GIL, which guards all members without another
/// guard.
class pending_answer : public std::enable_shared_from_this<pending_answer> {
 public:
  pending_answer() = default;
  pending_answer(const pending_answer&) = delete;
  pending_answer& operator=(const pending_answer&) = delete;
  virtual ~pending_answer() = default;

  /// True once `take` has an answer.
  [[nodiscard]] bool ready();
  /// Releases the GIL while it waits. True if ready.
  [[nodiscard]] bool wait_until(std::chrono::steady_clock::time_point deadline);
  /// Precondition: ready, and not taken before.
  [[nodiscard]] answer take() noexcept { return std::move(answer_); }
  /// Null for what succeeded. The same precondition.
  [[nodiscard]] const error* failure() const noexcept { return std::get_if<error>(&answer_); }
  /// True once a listener has attached; the continuation takes the answer from then on.
  [[nodiscard]] bool attached() const noexcept { return attached_; }
  /// Hands `one` over once ready; at once if it is.
  void listen(std::unique_ptr<listener> one);

 protected:
  [[nodiscard]] virtual bool future_ready() const = 0;
  /// Without the GIL.
  virtual bool wait_for_future(std::chrono::steady_clock::time_point deadline) const = 0;
  [[nodiscard]] virtual answer answer_of_future() = 0;
  /// Attaches a continuation that calls `arrive`.
  virtual void attach() = 0;
  /// On any thread, without the GIL.
  void arrive(answer a);

 private:
  int blocked_ = 0;                   ///< threads that wait for the C++ future
  bool attached_ = false;             ///< the C++ future is the continuation's
  std::atomic<bool> arrived_{false};  // release: the answer is there
  std::mutex mutex_;                  // guards the listeners, and orders `arrived_` for waiters
  std::condition_variable changed_;
  std::vector<std::unique_ptr<listener>> listeners_;
  answer answer_;
};

/// Whom a pending answer wakes. Its Python objects are touched with the GIL only.
class listener {
 public:
  listener() = default;
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;
  virtual ~listener() = default;
  /// On any thread, without the GIL.
  virtual void hear(std::unique_ptr<listener> self) noexcept = 0;
  listener* next = nullptr;  ///< for a list of those who have heard
};

template <class T>
class pending_future final : public pending_answer {
 public:
  explicit pending_future(future<T> f) noexcept : future_(std::move(f)) {}

 private:
  [[nodiscard]] static answer of(result<T> r) {
    if (!r) return std::move(r).error();
    if constexpr (std::is_void_v<T>)
      return {};
    else
      return *std::move(r);
  }
  [[nodiscard]] bool future_ready() const override { return future_.ready(); }
  bool wait_for_future(std::chrono::steady_clock::time_point deadline) const override {
    return future_.wait_until(deadline);
  }
  [[nodiscard]] answer answer_of_future() override { return of(future_.get_result()); }
  void attach() override {
    auto self = std::static_pointer_cast<pending_future>(shared_from_this());
    (void)future_.then([self](result<T> r) { self->arrive(of(std::move(r))); });
  }

  future<T> future_;
};

}  // namespace troupe::python
