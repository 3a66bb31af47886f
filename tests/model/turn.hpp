#pragma once

#include <condition_variable>
#include <mutex>

namespace troupe::model {

/// One thread goes on where another one stops. Not std::binary_semaphore: that of GCC 12 can sleep
/// for ever (PR 104928).
class turn {
 public:
  void release() {
    const std::lock_guard lock(mutex_);
    is_free_ = true;
    changed_.notify_one();
  }
  void acquire() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_free_; });
    is_free_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_free_ = false;
};

}  // namespace troupe::model
