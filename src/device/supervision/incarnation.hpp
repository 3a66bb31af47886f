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
  memory_space space{};
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  int descriptor = -1;
  std::shared_ptr<const memory_slab> keep{};  ///< what holds a device's piece and its descriptor
};

/// Everything that workers map, and how often that has changed.
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

/// What every worker of a device is started with.
struct worker_plan {
  const device_config* config = nullptr;
  mailbox* requests = nullptr;
  const memory_pool* device_memory = nullptr;
  const memory_pool* host_memory = nullptr;
  const memory_picture* picture = nullptr;
  const os::unique_fd* blobs = nullptr;  ///< what libraries of workers leave to those of the next
  int program_wakes = -1;  ///< eventfd of the device thread, for threads of this program
  std::string executable;  ///< for `isolation::process`
  std::string plugin;      ///< may be empty
  std::string device;      ///< which one of the plugin's; empty where it has none of its own
  bool warm_first = true;  ///< it is ready once it is warm
  bool any_has_served = false;
  bool all_wait = false;  ///< for it, because none serves
};

/// A range of device memory that workers may only read.
struct frozen_range {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// One worker of a device: a process, or threads of this program. Used by the device thread only.
/// What is virtual can be simulated.
class incarnation {
 public:
  enum class stage : std::uint8_t { starting, ready, failed };

  /// Starts it; a process becomes ready later, by its messages.
  [[nodiscard]] static result<std::unique_ptr<incarnation>> start(
      const worker_plan& plan, std::uint64_t number, const std::vector<frozen_range>& frozen);
  incarnation(const incarnation&) = delete;
  incarnation& operator=(const incarnation&) = delete;
  virtual ~incarnation();

  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] stage where() const noexcept { return stage_; }
  /// True when all that it may be asked for is loaded. It is ready before, unless it was to be warm
  /// first.
  [[nodiscard]] bool warm() const noexcept { return warm_; }
  /// Why it failed, to start or later. Precondition: `where() == stage::failed`.
  [[nodiscard]] const error& failure() const noexcept { return *failure_; }
  /// True where its queues failed, with what ran in them; what else fails in a worker has nothing
  /// to do with what runs.
  [[nodiscard]] bool queues_failed() const noexcept { return queues_failed_; }
  [[nodiscard]] virtual wire::worker_header* segment() const noexcept {
    return reinterpret_cast<wire::worker_header*>(segment_.address());
  }

  [[nodiscard]] bool is_process() const noexcept { return runtime_ == nullptr; }
  [[nodiscard]] virtual pid_t pid() const noexcept { return process_.pid(); }
  /// A descriptor that is readable once the process has ended.
  [[nodiscard]] int ending() const noexcept { return process_.ending(); }
  [[nodiscard]] virtual int control() const noexcept { return control_.get(); }
  /// By which a process wakes the device thread. Its own: what a worker takes from it, or makes of
  /// it, is missing nowhere else.
  [[nodiscard]] const os::unique_fd& wakes() const noexcept { return wakes_; }

  /// Of a worker that a fork server starts: where is said what becomes of it, until it is ready;
  /// else -1.
  [[nodiscard]] int news() const noexcept { return news_.get(); }
  /// Reads what is said there.
  void on_news();
  /// When it last said what it is doing while it starts.
  [[nodiscard]] std::chrono::steady_clock::time_point last_heard() const noexcept {
    return last_heard_;
  }
  /// What it is doing while it starts, for messages; may be empty.
  [[nodiscard]] const std::string& activity() const noexcept { return activity_; }
  /// What it has written of its own end: where its program was. May be empty.
  [[nodiscard]] std::string last_words() const;
  /// Has a process that hangs write that, and waits a moment for it.
  [[nodiscard]] std::string ask_where_it_is() const;
  /// Reads what the worker has sent, and sends what it has not had room for.
  virtual void on_control();
  /// True when something waits for room.
  [[nodiscard]] bool has_unsent() const noexcept { return !unsent_.empty(); }
  /// For messages: a worker, or the file of one that has not said so yet; and what to think of it.
  [[nodiscard]] std::string called() const {
    if (configured_) return "a worker";
    return plan_.config->forked_by ? "the fork server, or a worker of it," : plan_.executable;
  }
  [[nodiscard]] std::string_view doubts() const noexcept {
    return configured_ || plan_.config->forked_by
               ? ""
               : "; is it a worker, or does it call troupe::worker_entry first?";
  }
  /// A ready worker that has not answered, or not read, for as long as this says something; a
  /// worker that is starting has its own time limit.
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> unanswered_since()
      const noexcept {
    return stage_ == stage::ready ? unanswered_since_ : std::nullopt;
  }
  /// Takes up what the threads of a worker in this program have reported.
  void hear_threads();
  void fail(error why);
  void queues_fail(error why);
  /// The libraries that it has no operations of because their plugins cannot be loaded.
  [[nodiscard]] const std::vector<worker::missing_library>& missing() const noexcept {
    return missing_;
  }

  /// Changes the rights of a range, at once or, in a worker that is not configured yet, before it
  /// becomes ready. A worker answers in order, which the two counts show.
  virtual void protect(const frozen_range& range, bool read_only);
  [[nodiscard]] std::uint64_t protects_sent() const noexcept { return protects_sent_; }
  [[nodiscard]] std::uint64_t protects_acknowledged() const noexcept {
    return protects_acknowledged_;
  }
  /// Those, by their number in the order they were sent, that the worker's system had no room for
  /// since the last call: the rights are as before.
  struct refused_protect {
    std::uint64_t number = 0;
    error why;
  };
  [[nodiscard]] std::vector<refused_protect> take_refused_protects() noexcept {
    return std::exchange(refused_protects_, {});
  }
  /// Maps, unmaps or registers memory; a worker that is not configured yet gets the whole picture
  /// then.
  virtual void change_memory(const memory_change& change);
  virtual void ping();
  [[nodiscard]] std::uint64_t pings_sent() const noexcept { return pings_sent_; }
  [[nodiscard]] std::uint64_t pongs() const noexcept { return pongs_; }

  /// Kills a process, which is gone only once `end` has returned.
  virtual void kill() noexcept { process_.kill(); }
  /// Kills a process and waits until it is gone: after this no store of it can land.
  virtual os::exit_report end() noexcept;
  /// Leaves the threads, and all that they may touch, behind for good: they cannot be ended.
  void abandon() noexcept;

 protected:
  incarnation(worker_plan plan, std::uint64_t number) : plan_(std::move(plan)), number_(number) {}

  void is_ready() noexcept { stage_ = stage::ready; }
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
  [[nodiscard]] result<void> on_missing(const wire::missing_message& told);
  [[nodiscard]] result<void> on_protect_done(const wire::plain_message& done);
  [[nodiscard]] result<void> configure();
  [[nodiscard]] result<void> give_memory();
  template <class Message>
  [[nodiscard]] result<void> send(const Message& message, std::span<const int> descriptors = {},
                                  const std::shared_ptr<const memory_slab>& keep = {});
  [[nodiscard]] result<void> send_unsent();
  void note_debt(bool was_paid_some) noexcept;

  /// What the socket had no room for.
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
  std::vector<frozen_range> frozen_;  // of a process until it is configured
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
  std::chrono::steady_clock::time_point counts_until_{};  // what it says
  std::shared_ptr<const void> token_;                     // of a fork server, while this exists
  os::child_process process_;
  std::unique_ptr<worker::worker_runtime> runtime_;
  struct thread_report {
    std::mutex mutex;
    std::optional<error> lost;
  };
  std::shared_ptr<thread_report> report_;  // shared with threads that may be left behind

  std::deque<unsent_message> unsent_;
  std::optional<std::chrono::steady_clock::time_point> unanswered_since_;
  std::uint64_t protects_sent_ = 0;
  std::uint64_t protects_acknowledged_ = 0;
  std::vector<refused_protect> refused_protects_;
  std::uint64_t pings_sent_ = 0;
  std::uint64_t pongs_ = 0;
};

/// The workers of a device that are not lost: the one in service, and the one that is to be next.
/// Null where there is none.
struct worker_pair {
  incarnation* active = nullptr;
  incarnation* next = nullptr;
};

}  // namespace troupe
