#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace troupe::os {

/// Owns a file descriptor.
class unique_fd {
 public:
  unique_fd() = default;
  explicit unique_fd(int fd) noexcept : fd_(fd) {}
  unique_fd(unique_fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  unique_fd& operator=(unique_fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  unique_fd(const unique_fd&) = delete;
  unique_fd& operator=(const unique_fd&) = delete;
  ~unique_fd() { reset(); }

  [[nodiscard]] int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  void reset() noexcept {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

/// A new descriptor, moved out of the places of the standard streams where a program has closed
/// those: what anybody prints would be written to it. None, with errno, where that fails.
[[nodiscard]] inline unique_fd clear_of_standard_streams(unique_fd fresh) noexcept {
  if (!fresh || fresh.get() > STDERR_FILENO) return fresh;
  return unique_fd(::fcntl(fresh.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

}  // namespace troupe::os
