#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace troupe::os {

/// Owns a file descriptor, which is never one of the standard streams.
class unique_fd {
 public:
  unique_fd() = default;
  /// Takes a new descriptor, or -1 with errno. If it has the place of a standard stream that the
  /// program has closed, it moves to the first free place behind them: otherwise printed output
  /// would be written to it, and reopening the stream would close it. Empty, with errno, if that
  /// fails.
  explicit unique_fd(int fd) noexcept : fd_(fd) {
    if (fd < 0 || fd > STDERR_FILENO) return;
    fd_ = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int code = errno;
    ::close(fd);
    errno = code;
  }
  unique_fd(unique_fd&& other) noexcept : fd_(other.release()) {}
  unique_fd& operator=(unique_fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = other.release();
    }
    return *this;
  }
  unique_fd(const unique_fd&) = delete;
  unique_fd& operator=(const unique_fd&) = delete;
  ~unique_fd() { reset(); }

  [[nodiscard]] int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  void reset() noexcept {
    if (fd_ >= 0) ::close(release());
  }
  /// Gives up ownership without closing.
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

}  // namespace troupe::os
