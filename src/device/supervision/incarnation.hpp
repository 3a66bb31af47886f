#pragma once

#include "memory/device_source.hpp"
#include "os/process.hpp"
#include "os/shared_memory.hpp"
#include "wire/codec.hpp"
#include "wire/control.hpp"
#include "worker/process/worker_runtime.hpp"

#include <troupe/base/result.hpp>
#include <troupe/device/config.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

class mailbox;
class memory_pool;

/// A piece of memory that workers map.
struct memory_piece {
  wire::pool_number pool = wire::device_pool;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  int descriptor = -1;
  std::shared_ptr<const memory_slab> keep{};  ///< keeps a device's piece and its descriptor
  bool writable = false;                      ///< of a peer; the device's own always is
};

/// Everything that workers map, and the number of the last change.
struct memory_picture {
  std::vector<memory_piece> pieces;
  std::uint64_t host_reach = 0;  ///< host memory that an accelerator must have registered, bytes
  std::uint64_t version = 0;
};

/// One change of the picture.
struct memory_change {
  wire::control kind{};  ///< `map`, `unmap` or `share`
  memory_piece piece;
  std::uint64_t version = 0;
};

/// The parameters that every worker of a device starts with.
struct worker_plan {
  const device_config* config = nullptr;
  mailbox* requests = nullptr;
  const memory_pool* device_memory = nullptr;
  const memory_pool* host_memory = nullptr;
  const memory_picture* picture = nullptr;
  const os::unique_fd* blobs = nullptr;  ///< data that worker libraries pass on to the next worker
  int program_wakes = -1;  ///< eventfd of the device thread, for threads of this program
  std::string executable;  ///< for `isolation::process`
  std::string plugin;      ///< may be empty
  std::string device;      ///< the plugin's device; empty if the plugin has none of its own
  bool warm_first = true;  ///< it is ready only once it is warm
  bool any_has_served = false;
  bool all_wait = false;     ///< for it, because none serves
  std::int32_t ordinal = 0;  ///< the device's, for `ps`
};

/// A range of device memory that workers may only read.
struct frozen_range {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// One worker of a device: a process, or threads of this program. Only the device thread uses it.
/// Tests replace the virtual functions by a simulation.
class incarnation {
 public:
  enum class stage : std::uint8_t { starting, ready, failed };

  /// Starts the worker; a process becomes ready later, by its messages.
  [[nodiscard]] static result<std::unique_ptr<incarnation>> start(
      const worker_plan& plan, std::uint64_t number, const std::vector<frozen_range>& frozen);
  incarnation(const incarnation&) = delete;
  incarnation& operator=(const incarnation&) = delete;
  virtual ~incarnation();

  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] stage where() const noexcept { return stage_; }
  /// True when everything that it may be asked for is loaded. It is ready earlier, unless it had to
  /// be warm first.
  [[nodiscard]] bool warm() const noexcept { return warm_; }
  /// The reason why it failed, at its start or later. Precondition: it is `stage::failed`.
  [[nodiscard]] const error& failure() const noexcept { return *failure_; }
  /// True if its queues failed, with the requests that ran in them; any other failure of a worker
  /// has nothing to do with its requests.
  [[nodiscard]] bool queues_failed() const noexcept { return queues_failed_; }
  [[nodiscard]] virtual wire::worker_header* segment() const noexcept {
    return reinterpret_cast<wire::worker_header*>(segment_.address());
  }

  [[nodiscard]] bool is_process() const noexcept { return runtime_ == nullptr; }
  [[nodiscard]] virtual pid_t pid() const noexcept { return process_.pid(); }
  /// A descriptor that is readable once the process has ended.
  [[nodiscard]] int ending() const noexcept { return process_.ending(); }
  [[nodiscard]] virtual int control() const noexcept { return control_.get(); }
  /// A process wakes the device thread with this. Each worker has its own, so that a worker that
  /// drains or breaks it harms no other.
  [[nodiscard]] const os::unique_fd& wakes() const noexcept { return wakes_; }

  /// A fork server reports the progress of its worker here until that is ready; else -1.
  [[nodiscard]] int news() const noexcept { return news_.get(); }
  /// Reads these reports.
  void on_news();
  /// When it last reported what it is doing while it starts.
  [[nodiscard]] std::chrono::steady_clock::time_point last_heard() const noexcept {
    return last_heard_;
  }
  /// Its last report of what it is doing while it starts, for messages; may be empty.
  [[nodiscard]] const std::string& activity() const noexcept { return activity_; }
  /// Its output at its end, with the stack of its program. May be empty.
  [[nodiscard]] std::string last_words() const;
  /// Makes a hanging process write that, and waits a moment for it.
  [[nodiscard]] std::string ask_where_it_is() const;
  /// Reads the worker's messages, and sends those that its socket had no space for.
  virtual void on_control();
  /// True if messages wait for space in the socket.
  [[nodiscard]] bool has_unsent() const noexcept { return !unsent_.empty(); }
  /// For messages: "a worker", or its executable before it has introduced itself; and a guess at
  /// the reason.
  [[nodiscard]] std::string called() const {
    if (configured_) return "a worker";
    return plan_.config->forked_by ? "the fork server, or a worker of it," : plan_.executable;
  }
  [[nodiscard]] std::string_view doubts() const noexcept {
    return configured_ || plan_.config->forked_by
               ? ""
               : "; is it a worker, or does it call troupe::worker_entry first?";
  }
  /// Since when a ready worker has not answered, or not read; a starting worker has its own time
  /// limit.
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> unanswered_since()
      const noexcept {
    return stage_ == stage::ready ? unanswered_since_ : std::nullopt;
  }
  /// Handles the reports of a worker's threads in this program.
  void hear_threads();
  void fail(error why);
  void queues_fail(error why);
  /// The libraries whose plugins the worker cannot load, so that it lacks their operations.
  [[nodiscard]] const std::vector<worker::missing_library>& missing() const noexcept {
    return missing_;
  }

  /// Changes the access rights of a range: at once, or before the worker becomes ready if it is not
  /// configured yet. A worker answers in order, as the two counts show.
  virtual void protect(const frozen_range& range, bool read_only);
  [[nodiscard]] std::uint64_t protects_sent() const noexcept { return protects_sent_; }
  [[nodiscard]] std::uint64_t protects_acknowledged() const noexcept {
    return protects_acknowledged_;
  }
  /// The changes, by their number in the order sent, that the worker's system has refused for lack
  /// of space since the last call: these rights are unchanged.
  struct refused_protect {
    std::uint64_t number = 0;
    error why;
  };
  [[nodiscard]] std::vector<refused_protect> take_refused_protects() noexcept {
    return std::exchange(refused_protects_, {});
  }
  /// Maps, unmaps or registers memory; a worker that is not configured yet gets the whole picture
  /// later.
  virtual void change_memory(const memory_change& change);
  /// It has the mailbox: its process shows that in its title.
  virtual void serves(std::uint64_t generation);
  virtual void ping();
  [[nodiscard]] std::uint64_t pings_sent() const noexcept { return pings_sent_; }
  [[nodiscard]] std::uint64_t pongs() const noexcept { return pongs_; }

  /// Kills a process; it is gone only once `end` has returned.
  virtual void kill() noexcept { process_.kill(); }
  /// Kills a process and waits until it is gone: after this none of its stores can land.
  virtual os::exit_report end() noexcept;
  /// Abandons the threads, and everything that they may touch, for good: they cannot be ended.
  void abandon() noexcept;

 protected:
  incarnation(worker_plan plan, std::uint64_t number) : plan_(std::move(plan)), number_(number) {}

  void is_ready() noexcept { stage_ = stage::ready; }
  void note_warm() noexcept { warm_ = true; }
  void note_ping() noexcept { ++pings_sent_; }
  void note_pong() noexcept { pongs_ = pings_sent_; }

 private:
  [[nodiscard]] result<void> start_process(const std::vector<frozen_range>& frozen);
  [[nodiscard]] result<void> have_forked(const os::unique_fd& control);
  void hear_news(std::string_view message, std::vector<os::unique_fd>& descriptors);
  [[nodiscard]] result<void> start_threads(const std::vector<frozen_range>& frozen);
  [[nodiscard]] int lane_threads() const;
  [[nodiscard]] std::string enabled_libraries() const;
  [[nodiscard]] result<void> handle(const wire::any_message& message);
  [[nodiscard]] result<void> on_hello(const wire::hello_message& hello);
  [[nodiscard]] result<void> on_missing(const wire::missing_message& message);
  [[nodiscard]] result<void> on_protect_done(const wire::plain_message& done);
  [[nodiscard]] result<void> configure();
  [[nodiscard]] result<void> give_memory();
  template <class Message>
  [[nodiscard]] result<void> send(const Message& message, std::span<const int> descriptors = {},
                                  const std::shared_ptr<const memory_slab>& keep = {});
  [[nodiscard]] result<void> send_unsent();
  void note_debt(bool was_paid_some) noexcept;

  /// A message that the socket had no space for.
  struct unsent_message {
    std::vector<std::byte> bytes;
    std::vector<int> descriptors;
    std::shared_ptr<const memory_slab> keep;  // holds the descriptor of a piece of memory
  };

  worker_plan plan_;
  std::uint64_t number_;
  stage stage_ = stage::starting;
  std::optional<error> failure_;
  bool queues_failed_ = false;
  std::vector<frozen_range> frozen_;  // for a process, until it is configured
  bool configured_ = false;
  bool warm_ = false;
  std::vector<worker::missing_library> missing_;

  os::unique_fd segment_memory_;
  os::mapping segment_;
  os::unique_fd wakes_;
  os::unique_fd control_;
  os::unique_fd news_;
  os::unique_fd log_;  // a file that the worker writes
  std::string activity_;
  std::chrono::steady_clock::time_point last_heard_ = std::chrono::steady_clock::time_point::min();
  std::chrono::steady_clock::time_point counts_until_{};  // until then, by its word
  std::shared_ptr<const void> token_;                     // of a fork server, while this exists
  os::child_process process_;
  std::unique_ptr<worker::worker_runtime> runtime_;
  struct thread_report {
    std::mutex mutex;
    std::optional<error> lost;
  };
  std::shared_ptr<thread_report> report_;  // shared with threads that may be abandoned

  std::deque<unsent_message> unsent_;
  std::optional<std::chrono::steady_clock::time_point> unanswered_since_;
  std::uint64_t protects_sent_ = 0;
  std::uint64_t protects_acknowledged_ = 0;
  std::vector<refused_protect> refused_protects_;
  std::uint64_t pings_sent_ = 0;
  std::uint64_t pongs_ = 0;
};

/// The workers of a device that are not lost: the one in service and the next one. Either may be
/// null.
struct worker_pair {
  incarnation* active = nullptr;
  incarnation* next = nullptr;
};

}  // namespace troupe
