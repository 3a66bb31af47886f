#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace troupe {

/// Counts the devices that are about to end, some of them on their own threads; see
/// `local_device::let_go`. Shared by these devices and by an owner that must outlive them.
class ending_devices {
 public:
  void add(int n) {
    const std::lock_guard lock(mutex_);
    count_ += n;
    changed_.notify_all();
  }
  void await_none(std::chrono::nanoseconds timeout) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, [this] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;  // guards `count_`
  std::condition_variable changed_;
  int count_ = 0;
};

}  // namespace troupe
