#pragma once

#include "os/process.hpp"
#include "os/unique_fd.hpp"

#include <troupe/device/fork_server.hpp>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace troupe {

/// The program's side of a fork server. One thread starts its processes, because they must end with
/// the thread that started them, and reads their messages.
///
/// One process at a time gets the requests for workers. If the sources that it has loaded change, a
/// second process loads beside it and replaces it when done. Older processes stay while a worker of
/// theirs lives, because that worker ends with them.
struct fork_server::parts {
  explicit parts(config c) : settings(std::move(c)) {}
  ~parts();

  /// Exists as long as the worker is wanted or in use.
  using worker_token = std::shared_ptr<const void>;
  /// True if a worker may wait until the sources are checked, and reloaded if they have changed. A
  /// worker that requests already wait for is forked from the modules loaded so far.
  enum class urgency : std::uint8_t { can_wait, at_once };

  [[nodiscard]] result<void> begin();
  /// Forks a worker that gets `control`; its progress arrives on `news`, and its exit status if
  /// asked for there. Never waits. \errors `system_error` of `dup`
  [[nodiscard]] result<worker_token> fork(const os::unique_fd& control, const os::unique_fd& news,
                                          urgency how);
  /// From now on everything waits for the workers that could wait.
  void hurry();
  /// A worker did not arrive in time. The process that kept it waiting gets no more requests, and
  /// ends once no worker of it lives.
  void give_up();
  /// Its device has stopped, for that reason: all processes end, until a worker is asked for again.
  void dismiss(const error& why);

  struct request {
    os::unique_fd control;
    os::unique_fd news;
    std::weak_ptr<const void> worker;
  };
  struct instance {
    os::child_process process;
    os::unique_fd socket;
    bool loaded = false;
    bool looks = false;  // it was asked whether its sources have changed
    std::string activity;
    std::optional<error> failed;
    std::vector<std::weak_ptr<const void>> workers;
  };
  using shared_instance = std::shared_ptr<instance>;

  static void say(const os::unique_fd& to, std::string_view text);
  void run();
  void wake() const noexcept;
  [[nodiscard]] bool is_wanted() const noexcept { return wanted || !waiting.empty(); }
  [[nodiscard]] result<shared_instance> start() const;
  void take_up(result<shared_instance> started, bool as_next);
  void give(instance& to, request one);
  void give_waiting();
  void ask_for_changes();
  void ask_next();
  void retire(shared_instance& which);
  void end_idle();
  [[nodiscard]] bool hear_all(const shared_instance& from);
  void hear(const shared_instance& from, std::string_view message,
            const std::vector<os::unique_fd>& descriptors);
  void note_described(const shared_instance& from, std::string text);
  void end(const shared_instance& which);
  void refuse_waiting(const error& why);
  void go_on_without_next(const error& why);

  const config settings;
  std::shared_ptr<const os::unique_fd> wakes;  // an event: the thread reads the following
  std::mutex mutex;                            // guards the following
  std::condition_variable changed;             // wakes threads that wait for the description
  bool stopping = false;
  bool wanted = true;                    // before any worker was asked for
  bool stale = false;                    // the sources of `current` have changed
  shared_instance current;               // gets requests for workers; null while it does not run
  shared_instance next;                  // loads beside it
  std::vector<shared_instance> retired;  // get no more requests
  std::deque<request> waiting;           // for a process, or for `next`
  std::optional<std::string> description;
  std::string known;  // the same, since the device was started or restarted
  std::optional<error> failed;
  std::thread thread;  // last
};

/// Output of another process as text that can be shown: without control characters, of bounded
/// length.
[[nodiscard]] std::string readable(std::string_view text);

/// An error as a message: the name of its code, then the text.
[[nodiscard]] std::string message_of(const error& why);
/// \returns nothing if the message is of another kind
[[nodiscard]] std::optional<error> failure_in(std::string_view message);

}  // namespace troupe
