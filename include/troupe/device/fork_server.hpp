#pragma once

#include <troupe/base/export.hpp>
#include <troupe/base/result.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

/// A process that loads once what takes long to load, such as an interpreter and its modules, and
/// forks the workers of a device: `device_config::forked_by`. A worker then starts within
/// milliseconds, whatever it has loaded.
///
/// Its command is a program that speaks the protocol of docs/guide/protocol.md#fork-server;
/// Troupe's Python package has one. It is started at once, and again when it has ended and a worker
/// is needed; a second one beside it when it says that its sources have changed. It ends with this
/// object, and when the device has stopped, and with it the workers that it has forked.
class TROUPE_EXPORT fork_server {
 public:
  struct config {
    std::vector<std::string> command{};      ///< the program's path and its arguments
    std::vector<std::string> environment{};  ///< "NAME=value"
  };

  /// \errors `system_error` if no thread can be started
  [[nodiscard]] static result<std::shared_ptr<fork_server>> start(config c);
  ~fork_server();
  fork_server(const fork_server&) = delete;
  fork_server& operator=(const fork_server&) = delete;

  /// Its description of its workers' operations, once everything is loaded; in a format of its own.
  /// \errors the reason of its failure; `timed_out`, with its current activity
  [[nodiscard]] result<std::string> description(std::chrono::nanoseconds timeout);
  /// Its activity while it loads, such as "importing numpy"; else empty.
  [[nodiscard]] std::string activity() const;

  struct parts;
  /// For the supervisor.
  [[nodiscard]] parts& own() const noexcept { return *parts_; }

 private:
  explicit fork_server(std::unique_ptr<parts> p);
  std::unique_ptr<parts> parts_;
};

}  // namespace troupe
