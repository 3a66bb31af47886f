#pragma once

#include "answer.hpp"

#include <nanobind/nanobind.h>

#include <atomic>
#include <memory>

namespace troupe::python {

/// One asyncio loop, as the answers see it: a descriptor that it watches, and a list of listeners
/// whose answers have come. No thread waits for an answer, and answers that come together wake the
/// loop once.
class event_loop : public std::enable_shared_from_this<event_loop> {
 public:
  /// The loop that runs in this thread. Throws RuntimeError if there is none.
  [[nodiscard]] static std::shared_ptr<event_loop> running();

  explicit event_loop(nb::object loop);
  event_loop(const event_loop&) = delete;
  event_loop& operator=(const event_loop&) = delete;
  ~event_loop();

  /// A new `asyncio.Future` of the loop.
  [[nodiscard]] nb::object make_future() const;
  /// From any thread, without the GIL.
  void push(std::unique_ptr<listener> heard) noexcept;

 private:
  void deliver();

  // Carried: the thread that brings the last answer may be the last that knows this.
  carried_object loop_;  // a weak reference
  carried_object create_future_;
  int descriptor_;
  // Pushed by any thread with release and taken whole by the loop's thread with acquire, so that it
  // sees the listener's writes. The thread that pushes onto an empty list wakes the loop.
  std::atomic<listener*> heard_{nullptr};
};

/// An `asyncio.Future` that is woken once an answer has come.
class loop_listener final : public listener {
 public:
  loop_listener(std::shared_ptr<event_loop> loop, nb::object waiting) noexcept
      : loop_(std::move(loop)), waiting_(std::move(waiting)) {}
  void hear(std::unique_ptr<listener> self) noexcept override;
  /// In the loop's thread.
  void wake();

 private:
  std::shared_ptr<event_loop> loop_;
  carried_object waiting_;
};

}  // namespace troupe::python
