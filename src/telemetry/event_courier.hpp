#pragma once

#include <troupe/core/log.hpp>
#include <troupe/device/events.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace troupe {

/// Brings the events of a system's devices to its log hook, on a thread of its own: the hook is
/// code of the program, which may take any time and throw.
class event_courier {
 public:
  /// Without a thread, if there are no more, it delivers nothing.
  explicit event_courier(log_hook hook);
  ~event_courier() { finish({}); }
  event_courier(const event_courier&) = delete;
  event_courier& operator=(const event_courier&) = delete;

  /// Never waits for the hook. A hook that is far behind misses the oldest events: their numbers
  /// show it. Drops the event after `finish`.
  void post(device_event e);
  /// Delivers all events posted so far, and ends the thread. A hook that has not returned within
  /// `timeout` is left alone: it may run on, but is not called again.
  void finish(std::chrono::nanoseconds timeout) noexcept;

  /// How many events wait at most.
  static constexpr std::size_t most_waiting = 1024;

 private:
  // Shared with the thread, which may be left behind.
  struct parts {
    log_hook hook;
    std::mutex mutex;  // guards the rest; not held while the hook runs
    std::condition_variable changed;
    std::deque<device_event> waiting;
    bool ends = false;
    bool has_ended = false;
  };
  static void deliver(parts& p) noexcept;

  std::shared_ptr<parts> parts_;
  std::thread thread_;
};

}  // namespace troupe
