#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// Programs that start themselves again: faults are injected by short-lived children only.
namespace troupe::gpu_test {

/// The command line: `--name value` pairs and single `--name`s.
class arguments {
 public:
  arguments(int argc, char** argv) : words_(argv + 1, argv + argc) {}
  [[nodiscard]] bool has(const std::string& name) const;
  [[nodiscard]] std::string text(const std::string& name, const std::string& otherwise) const;
  [[nodiscard]] std::int64_t number(const std::string& name, std::int64_t otherwise) const;

 private:
  std::vector<std::string> words_;
};

/// The system resources that this program holds.
struct holdings {
  std::vector<std::string> descriptors;  ///< their names, in order
  std::size_t threads = 0;
  std::uint64_t resident_bytes = 0;
  std::size_t children = 0;        ///< processes that it has started and not waited for
  std::uint64_t shared_bytes = 0;  ///< of shared memory that it has mapped, used or not
};
[[nodiscard]] holdings read_holdings();

/// How a program ended.
struct ending {
  bool in_time = true;  ///< else it was killed
  int status = -1;      ///< -1 when a signal ended it
  int signal = 0;
  [[nodiscard]] bool well() const noexcept { return in_time && status == 0; }
  [[nodiscard]] std::string to_string() const;
};

/// Runs this executable with these arguments; kills it when the timeout ends.
[[nodiscard]] ending run_self(const std::vector<std::string>& words,
                              std::chrono::nanoseconds timeout);

/// This executable with these arguments, running beside this program, with a socket between them:
/// its descriptor `companion_descriptor`. Ended by closing the socket, killed if that does not do.
class companion {
 public:
  static constexpr int companion_descriptor = 3;

  explicit companion(const std::vector<std::string>& words);
  companion(const companion&) = delete;
  companion& operator=(const companion&) = delete;
  ~companion();

  [[nodiscard]] int socket() const noexcept { return socket_; }
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// Waits for its end, which it comes to by itself.
  [[nodiscard]] ending wait(std::chrono::nanoseconds timeout);
  /// Closes the socket and waits for its end.
  [[nodiscard]] ending finish(std::chrono::nanoseconds timeout);

 private:
  int socket_ = -1;
  pid_t pid_ = -1;
};

/// So that no child outlives what has started it.
void die_with_parent();

}  // namespace troupe::gpu_test
