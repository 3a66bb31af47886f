#pragma once

#include "os/process.hpp"
#include "os/unique_fd.hpp"

#include <troupe/device/fork_server.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace troupe {

/// The program's side of a fork server. A thread starts the process, because it is to end with the
/// thread that has started it, and hears what it says. Requests go to its socket at once; while
/// there is none they wait.
struct fork_server::parts {
  explicit parts(config c) : settings(std::move(c)) {}
  ~parts();

  void begin();
  /// Has a worker forked that gets `control`; what becomes of it is said on `news`, and how it has
  /// ended when it is asked there. Never waits. \errors `system_error` of `dup`
  [[nodiscard]] result<void> fork(const os::unique_fd& control, const os::unique_fd& news);

  /// A worker has been waited for in vain. Where it still loads it is ended, so that the next
  /// worker finds another. Precondition: none of its workers runs.
  void give_up_loading();

  void run();
  void serve();
  void hear(std::string_view message);
  void refuse_waiting(const error& why);
  void end_process();

  struct request {
    os::unique_fd control;
    os::unique_fd news;
  };
  [[nodiscard]] static bool send(const os::unique_fd& to, const request& one);

  const config settings;
  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  bool stopping = false;
  bool wanted = true;         // that it runs
  os::unique_fd socket;       // while it runs
  os::child_process process;  // the thread's own
  bool loading = false;       // it has not loaded all
  bool given_up = false;      // it is ending
  std::deque<request> waiting;
  std::optional<std::string> description;
  std::optional<error> failed;
  std::string activity;
  std::thread thread;  // last
};

/// An error as a fork server sends it: its code's name, then the text. \returns nothing where the
/// message is of another kind
[[nodiscard]] std::optional<error> failure_in(std::string_view message);

}  // namespace troupe
