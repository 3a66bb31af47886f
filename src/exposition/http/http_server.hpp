#pragma once

#include "exposition/http/connection.hpp"
#include "exposition/http/listener.hpp"
#include "exposition/http/message.hpp"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace troupe::telemetry {

/// Answers requests of HTTP with two threads. One has all connections and waits for none of them,
/// so slow clients keep no other one waiting. The other makes the answers that take long.
class http_server {
 public:
  struct parts {
    std::vector<listener> listeners;
    /// On the thread of the connections. Nothing: `answer` makes the response.
    std::function<std::optional<http_response>(const http_request&)> answer_at_once;
    /// On the other thread, like `next_piece`.
    std::function<http_response(const http_request&)> answer;
    /// Called every `piece_period` while there is a stream; all get the result.
    std::function<std::string()> next_piece;
    /// Called once a second on the thread of the connections.
    std::function<void()> look;
  };

  static constexpr std::size_t most_connections = 64;
  static constexpr std::size_t most_streams = 8;
  static constexpr std::chrono::milliseconds piece_period{250};

  /// Starts. \throws std::system_error if there are no more threads or descriptors
  explicit http_server(parts p);
  http_server(const http_server&) = delete;
  http_server& operator=(const http_server&) = delete;
  ~http_server() { close(); }

  /// Ends all connections and threads, and frees the port. May be called again, by any thread. Does
  /// nothing in a forked process: all of it is the program's.
  void close() noexcept;

 private:
  using clock = std::chrono::steady_clock;
  struct job {
    std::uint64_t connection = 0;
    http_request request{};
  };
  struct made {
    std::uint64_t connection = 0;  // 0: a piece for all streams
    http_response response{};
  };

  void serve();
  void make_answers();
  void accept_from(const listener& from);
  void make_room();
  void take_made();
  void advance(connection& c, short events, clock::time_point now);
  [[nodiscard]] bool give_out(job one);
  void respond(connection& c, const http_response& r, clock::time_point now);
  void wake() noexcept;

  const pid_t made_in_ = ::getpid();
  parts parts_;
  os::unique_fd wakes_;
  std::list<connection> connections_;  // the oldest first
  std::uint64_t last_number_ = 0;
  clock::time_point accepts_again_{};

  std::mutex mutex_;  // guards the following
  std::condition_variable changed_;
  std::deque<job> jobs_;
  std::deque<made> made_;
  std::size_t streams_ = 0;
  bool ends_ = false;

  std::mutex closing_;
  std::thread maker_;
  std::thread server_;
};

}  // namespace troupe::telemetry
