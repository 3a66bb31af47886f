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

/// The program's side of a fork server. A thread starts its processes, because they are to end with
/// the thread that has started them, and hears what they say.
///
/// One process at a time is asked for workers. Where the sources of what it has loaded have
/// changed, another one loads beside it, and takes its place once it has. Those before it stay
/// while a worker of theirs lives, since that ends with them.
struct fork_server::parts {
  explicit parts(config c) : settings(std::move(c)) {}
  ~parts();

  /// Exists for as long as somebody wants the worker, or has it.
  using worker_token = std::shared_ptr<const void>;
  /// Whether a worker may wait until the sources have been looked at, and loaded where they have
  /// changed. One that all wait for is forked from what there is.
  enum class urgency : std::uint8_t { can_wait, at_once };

  [[nodiscard]] result<void> begin();
  /// Has a worker forked that gets `control`; what becomes of it is said on `news`, and how it has
  /// ended when it is asked there. Never waits. \errors `system_error` of `dup`
  [[nodiscard]] result<worker_token> fork(const os::unique_fd& control, const os::unique_fd& news,
                                          urgency how);
  /// From now on all wait for the workers that could wait.
  void hurry();
  /// A worker has been waited for in vain. Whoever has kept it waiting is not asked any more, and
  /// ended once no worker of it lives.
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
    bool looks = false;  // it has been asked whether its sources have changed
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
  std::shared_ptr<const os::unique_fd> wakes;  // an event: the thread is to look at what follows
  std::mutex mutex;                            // guards it
  std::condition_variable changed;             // for those who wait for the description
  bool stopping = false;
  bool wanted = true;                    // before anybody has asked for a worker
  bool stale = false;                    // the sources of `current` have changed
  shared_instance current;               // is asked for workers; null while it does not run
  shared_instance next;                  // loads beside it
  std::vector<shared_instance> retired;  // are not asked any more
  std::deque<request> waiting;           // for a process, or for `next`
  std::optional<std::string> description;
  std::string known;  // the same, since the device was started or restarted
  std::optional<error> failed;
  std::thread thread;  // last
};

/// The words of another process as a text that can be shown: without control characters, of bounded
/// length.
[[nodiscard]] std::string readable(std::string_view text);

/// An error as it is sent: its code's name, then the text.
[[nodiscard]] std::string message_of(const error& why);
/// \returns nothing where the message is of another kind
[[nodiscard]] std::optional<error> failure_in(std::string_view message);

}  // namespace troupe
