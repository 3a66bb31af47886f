#pragma once

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <thread>

namespace troupe::bench {

/// Notes when a process is dead, from a thread of its own.
class death_watch {
 public:
  explicit death_watch(pid_t process)
      : descriptor_(static_cast<int>(::syscall(SYS_pidfd_open, process, 0))) {
    if (descriptor_ < 0) throw std::runtime_error("pidfd_open: the worker is gone");
    thread_ = std::jthread([this] {
      pollfd asked{.fd = descriptor_, .events = POLLIN, .revents = 0};
      while (::poll(&asked, 1, -1) < 0) {
      }
      seen_ = std::chrono::steady_clock::now();
    });
  }
  ~death_watch() {
    if (thread_.joinable()) thread_.join();
    ::close(descriptor_);
  }
  death_watch(const death_watch&) = delete;
  death_watch& operator=(const death_watch&) = delete;

  [[nodiscard]] std::chrono::steady_clock::time_point seen() {
    thread_.join();
    return seen_;
  }

 private:
  int descriptor_;
  std::chrono::steady_clock::time_point seen_;
  std::jthread thread_;
};

}  // namespace troupe::bench
