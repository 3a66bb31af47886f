#pragma once

#include <troupe/core/future.hpp>
#include <troupe/device/device.hpp>
#include <troupe/device/library_actor.hpp>
#include <troupe/device/request_graph.hpp>
#include <troupe/request/any_request.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

/// How requests are sent: at once, or, where the mailbox is full and an event loop must not wait,
/// behind others in a queue of the program's.
namespace troupe::python {

struct device_handle;

/// An element of the queue.
class queued_sending {
 public:
  virtual ~queued_sending() = default;
  /// Waits for room in the mailbox.
  virtual void send() = 0;

 protected:
  /// Counts the time in the queue towards the deadline. The error if it has passed.
  [[nodiscard]] std::optional<error> wear_down(request_options& options,
                                               std::string_view request) const;

 private:
  const std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

/// A request in the queue, and its state once sent.
class queued_request final : public queued_sending {
 public:
  queued_request(device on, library_actor to, any_request request, request_options options)
      : on_(std::move(on)),
        to_(std::move(to)),
        request_(std::move(request)),
        options_(std::move(options)) {}

  [[nodiscard]] future<any_reply> get_future() noexcept { return answer_.get_future(); }
  void send() override;
  /// False if it had begun. Waits for the outcome.
  [[nodiscard]] bool cancel();

 private:
  void fail(error why);

  const device on_;
  library_actor to_;
  std::mutex mutex_;  // guards the rest
  any_request request_;
  request_options options_;
  promise<any_reply> answer_;  // until it is sent
  request_handle sent_;
};

/// A run of a graph in the queue. Its arguments have been checked.
class queued_run final : public queued_sending {
 public:
  queued_run(device on, request_graph graph, std::vector<graph_argument> arguments,
             request_options options)
      : on_(std::move(on)),
        graph_(std::move(graph)),
        arguments_(std::move(arguments)),
        options_(std::move(options)) {}

  [[nodiscard]] future<graph_replies> get_future() noexcept { return answer_.get_future(); }
  void send() override;

 private:
  const device on_;
  const request_graph graph_;
  const std::vector<graph_argument> arguments_;
  request_options options_;
  promise<graph_replies> answer_;
};

/// The queue of a device. A thread sends its requests in order, and ends when the queue is empty.
class sending_queue : public std::enable_shared_from_this<sending_queue> {
 public:
  /// Acquire: requests that left the queue have been sent.
  [[nodiscard]] bool is_empty() const noexcept { return !in_use_.load(std::memory_order_acquire); }
  void add(std::shared_ptr<queued_sending> one);
  /// Waits until it is empty. Releases the GIL.
  void flush();

 private:
  void run() noexcept;

  std::mutex mutex_;
  std::condition_variable emptied_;
  std::deque<std::shared_ptr<queued_sending>> waiting_;
  std::atomic<bool> in_use_{false};  // changed under the mutex
};

/// By which a request is cancelled, wherever it is.
class sent_handle {
 public:
  sent_handle() = default;
  explicit sent_handle(std::shared_ptr<queued_request> queued) : queued_(std::move(queued)) {}

  void cancel() const;
  /// False if it had begun or ended. Waits for the outcome.
  [[nodiscard]] bool cancel_and_wait() const;

  request_handle sent{};
  /// The request in the graph that it was recorded in, if it was.
  reply_in_graph<any_reply> recorded{};

 private:
  std::shared_ptr<queued_request> queued_;
};

struct sent_request {
  future<any_reply> answer;
  sent_handle handle;
};

/// True where a request is not sent by this thread, but waits in the queue or is recorded. With the
/// GIL.
[[nodiscard]] bool goes_to_queue(const device_handle& device, const library_actor& actor);

/// Sends a request, or records it (`recording`). With the GIL, which it releases.
[[nodiscard]] sent_request send(const device_handle& device, const library_actor& actor,
                                any_request request, const request_options& options);
/// Sends a run of a graph. This thread does not record. With the GIL, which it releases.
[[nodiscard]] future<graph_replies> send(const device_handle& device, const request_graph& graph,
                                         std::vector<graph_argument> arguments,
                                         const request_options& options);

}  // namespace troupe::python
