#include "os/event.hpp"
#include "os/group_signals.hpp"
#include "os/limits.hpp"
#include "os/message_socket.hpp"
#include "os/shared_memory.hpp"
#include "os/standard_streams.hpp"
#include "os/thread.hpp"
#include "wire/control.hpp"
#include "wire/reply.hpp"
#include "worker/plugins/vendor_search.hpp"
#include "worker/process/blob_keeper.hpp"
#include "worker/process/crash.hpp"
#include "worker/process/engine.hpp"
#include "worker/process/process_title.hpp"
#include "worker/process/worker_argument.hpp"
#include "worker/process/worker_runtime.hpp"

#include <troupe/core/future.hpp>
#include <troupe/plugin/worker_entry.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <condition_variable>
#include <csignal>
#include <cstring>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace troupe {
namespace {

std::string_view text(const char* bytes, std::size_t most) {
  return {bytes, ::strnlen(bytes, most)};
}

/// A message from the program, as it came; without bytes, the end of the socket.
struct heard_message {
  wire::any_message message;
  os::received_message received;
};

/// Messages that the listener has received and the control thread has not handled yet.
class heard_messages {
 public:
  void put(result<heard_message> one) {
    {
      const std::lock_guard lock(mutex_);
      messages_.push_back(std::move(one));
    }
    news_.notify_one();
  }
  [[nodiscard]] result<heard_message> take() {
    std::unique_lock lock(mutex_);
    news_.wait(lock, [&] { return !messages_.empty(); });
    result<heard_message> first = std::move(messages_.front());
    messages_.pop_front();
    return first;
  }

 private:
  std::mutex mutex_;
  std::condition_variable news_;
  std::deque<result<heard_message>> messages_;
};

/// A worker process: its control thread is the main thread; lanes run beside it, and a listening
/// thread, so that pings are answered while the control thread is busy: registering some GiB of
/// host memory takes seconds.
class worker_process {
 public:
  worker_process(os::unique_fd control, void (*add)(operation_table&))
      : control_(std::move(control)), add_(add) {}

  /// Serves until the program ends the socket. \returns the exit status
  int run() {
    wire::hello_message hello;
    std::strncpy(hello.library_version, TROUPE_VERSION, sizeof(hello.library_version) - 1);
    if (!send(hello)) return 1;
    listener_ = os::start_thread([this] { listen(); });
    for (;;) {
      auto next = heard_.take();
      result<void> handled;
      if (next) {
        if (next->received.bytes == 0) return 0;
        handled = wire::check_whole(next->message, next->received.bytes);
        if (handled) handled = guarded([&] { return handle(next->message, next->received); });
      } else {
        if (next.error().code != errc::protocol_violation) return 0;
        handled = std::move(next).error();
      }
      if (!handled) {
        wire::failed_message failed;
        wire::write_failure(failed.why, 0, handled.error());
        (void)send(failed);
        return 1;
      }
    }
  }

 private:
  // A lack of threads or memory is reported as a failure with its reason.
  template <class Handle>
  static result<void> guarded(Handle handle) {
    try {
      return handle();
    } catch (const std::system_error& none) {
      return system_failure("pthread_create", none.code().value());
    } catch (...) {
      return detail::current_exception_error();
    }
  }

  static error out_of_turn(wire::control kind) {
    return {.code = errc::protocol_violation,
            .message = fmt::format("control message {} from the program, out of turn",
                                   static_cast<std::uint32_t>(kind))};
  }

  result<void> handle(const wire::any_message& message, os::received_message& received) {
    const bool carries =
        message.kind == wire::control::configure || message.kind == wire::control::map;
    if (!carries && !received.descriptors.empty()) return out_of_turn(message.kind);
    switch (message.kind) {
      case wire::control::configure:
        return configure(message.configure, received.descriptors);
      case wire::control::map:
      case wire::control::unmap:
      case wire::control::share:
        return change_memory(message.memory, received.descriptors);
      case wire::control::begin:
        return begin(message.plain.id);
      case wire::control::protect:
        return protect(message.protect);
      case wire::control::serves:
        show(fmt::format("generation {}", message.plain.id));
        return {};
      case wire::control::ping:  // answered by the listener, unless it has descriptors
      case wire::control::hello:
      case wire::control::ready:
      case wire::control::warm:
      case wire::control::failed:
      case wire::control::missing:
      case wire::control::protect_done:
      case wire::control::pong:
        break;
    }
    return out_of_turn(message.kind);
  }

  // Until the socket ends, or fails.
  void listen() {
    for (bool goes_on = true; goes_on;) {
      heard_message one;
      auto received =
          os::receive_message(control_, std::as_writable_bytes(std::span(&one.message, 1)),
                              os::wait_mode::blocking, wire::configure_descriptors);
      if (!received) {
        heard_.put(std::move(received).error());
        return;
      }
      one.received = *std::move(received);
      goes_on = one.received.bytes != 0;
      if (is_ping(one)) {
        (void)send(wire::plain_message{.kind = wire::control::pong, .id = one.message.plain.id});
      } else {
        heard_.put(std::move(one));
      }
    }
  }
  static bool is_ping(const heard_message& one) {
    return wire::check_whole(one.message, one.received.bytes) &&
           one.message.kind == wire::control::ping && one.received.descriptors.empty();
  }

  // Checks the program's message before it is used, so that a mistake there is reported as such and
  // does not crash this process.
  result<void> check(const wire::configure_message& message,
                     const std::vector<os::unique_fd>& descriptors) const {
    if (backend() != nullptr) return out_of_turn(message.kind);
    const auto violation = [](std::string what) {
      return error{.code = errc::protocol_violation, .message = std::move(what)};
    };
    if (descriptors.size() != wire::configure_descriptors || !os::is_event(descriptors[3])) {
      return violation(
          fmt::format("{} descriptors, or the fourth is no event", descriptors.size()));
    }
    if (message.lane_threads == 0 || message.lane_threads > wire::most_lane_threads) {
      return violation(fmt::format("{} threads", message.lane_threads));
    }
    for (const wire::shared_range& range : message.ranges) {
      if (range.base % os::page_bytes() != 0 || range.base + range.bytes < range.base) {
        return violation(fmt::format("{} bytes at {:#x}", range.bytes, range.base));
      }
    }
    if (message.mailbox_bytes < sizeof(wire::mailbox_header)) {
      return violation(fmt::format("a mailbox of {} bytes", message.mailbox_bytes));
    }
    return {};
  }

  static result<os::mapping> map(const os::unique_fd& memory, std::uint64_t bytes,
                                 os::protection access) {
    if (auto whole = os::check_received(memory, bytes); !whole) return std::move(whole).error();
    auto mapped = os::map(memory, bytes, access);
    if (!mapped) return mapped;
    auto kept = os::keep_from_children(mapped->address(), bytes);
    return kept ? std::move(mapped) : std::move(kept).error();
  }

  result<void> configure(const wire::configure_message& message,
                         std::vector<os::unique_fd>& descriptors) {
    if (auto good = check(message, descriptors); !good) return good;
    configuration_ = message;
    show("starting");
    auto mailbox = map(descriptors[0], message.mailbox_bytes, os::protection::read);
    if (!mailbox) return std::move(mailbox).error();
    mailbox_ = *std::move(mailbox);
    const auto* header = reinterpret_cast<const wire::mailbox_header*>(mailbox_.address());
    auto bells = map(descriptors[1], sizeof(wire::doorbells) * wire::doorbell_sets,
                     os::protection::read_write);
    if (!bells) return std::move(bells).error();
    bells_ = *std::move(bells);
    // `inbox::open` checks whether this is enough for the mailbox.
    auto segment = map(descriptors[2], wire::worker_segment_bytes(header->geometry.capacity),
                       os::protection::read_write);
    if (!segment) return std::move(segment).error();
    segment_ = *std::move(segment);
    program_wakes_ = std::move(descriptors[3]);
    auto blobs = map(descriptors[4], wire::blob_memory_bytes, os::protection::read_write);
    if (!blobs) return std::move(blobs).error();
    worker::crash::install(reinterpret_cast<wire::worker_header*>(segment_.address())->crash);

    worker::engine::config config{
        .plugin = std::string(text(message.plugin, sizeof(message.plugin))),
        .device = std::string(text(message.device, sizeof(message.device))),
        .libraries = std::string(text(message.libraries, sizeof(message.libraries))),
        .fault_injection = message.fault_injection != 0,
        .in_process = true,
        .add_own = add_,
        .user_plugins = wire::listed_paths(message.plugins),
        .methods = methods_by_environment(message.methods),
        .blobs = std::make_shared<worker::blob_keeper>(
            *std::move(blobs), worker::blob_keeper::kept_in::memory_and_folder)};
    for (std::size_t pool = 0; pool < config.ranges.size(); ++pool) {
      const wire::shared_range& range = message.ranges[pool];
      config.ranges[pool] = {reinterpret_cast<std::byte*>(range.base), range.bytes};
    }
    auto backend = worker::engine::bring_up(config);
    if (!backend) return std::move(backend).error();
    backend_ = *std::move(backend);
    for (const worker::missing_library& one : backend_->missing()) {
      wire::missing_message missing;
      one.name.copy(missing.library, sizeof(missing.library) - 1);
      one.why.copy(missing.why, sizeof(missing.why) - 1);
      if (auto sent = send(missing); !sent) return sent;
    }
    return {};
  }

  result<void> begin(std::uint64_t id) {
    if (!backend_) return out_of_turn(wire::control::begin);
    auto* bells = reinterpret_cast<wire::doorbells*>(bells_.address());
    auto started = worker::worker_runtime::start(
        {.mailbox = reinterpret_cast<const wire::mailbox_header*>(mailbox_.address()),
         .mailbox_bytes = mailbox_.bytes(),
         .segment_bytes = segment_.bytes(),
         .bells = bells + configuration_.worker % wire::doorbell_sets,
         .segment = reinterpret_cast<wire::worker_header*>(segment_.address()),
         .program_wakes = program_wakes_.get(),
         .worker = configuration_.worker,
         .lane_threads = static_cast<int>(configuration_.lane_threads),
         .in_process = true,
         .warm_first = configuration_.warm_first != 0,
         .lost =
             [this](const error& why) {
               // On a lane's thread.
               wire::failed_message failed;
               failed.of_queues = 1;
               wire::write_failure(failed.why, 0, why);
               (void)send(failed);
             },
         .warm = [this] { (void)send(wire::plain_message{.kind = wire::control::warm}); }},
        std::move(backend_));
    if (!started) return std::move(started).error();
    runtime_ = *std::move(started);
    show("standby");
    return send(wire::plain_message{.kind = wire::control::ready, .id = id});
  }

  // In `ps`.
  void show(std::string_view state) const {
    worker::set_title(worker::title(configuration_.ordinal, state));
  }

  [[nodiscard]] worker::engine* backend() const noexcept {
    return runtime_ ? &runtime_->backend() : backend_.get();
  }

  result<void> change_memory(const wire::memory_message& message,
                             std::vector<os::unique_fd>& descriptors) {
    const bool maps = message.kind == wire::control::map;
    if (backend() == nullptr || message.pool >= wire::pool_count ||
        descriptors.size() != (maps ? 1 : 0)) {
      return error{.code = errc::protocol_violation,
                   .message = fmt::format("memory of pool {} with {} descriptors", message.pool,
                                          descriptors.size())};
    }
    const auto pool = static_cast<wire::pool_number>(message.pool);
    result<void> changed;
    if (maps) {
      if (pool >= wire::first_peer_pool) changed = backend()->add_peer(pool, range_of_peer(pool));
      if (changed) {
        changed = backend()->map(pool, message.offset, message.bytes, descriptors[0],
                                 message.writable != 0);
      }
    } else if (message.kind == wire::control::unmap) {
      changed = backend()->unmap(pool, message.offset, message.bytes);
    } else {
      changed = backend()->share_up_to(message.bytes);
    }
    if (changed) backend()->set_memory_version(message.version);
    return changed;
  }

  // Nothing if the program does not know such a peer: then no memory of it can be mapped.
  [[nodiscard]] wire::address_range range_of_peer(wire::pool_number pool) const noexcept {
    const auto& mailbox = *reinterpret_cast<const wire::mailbox_header*>(mailbox_.address());
    const auto peer = static_cast<std::uint32_t>(pool - wire::first_peer_pool);
    if (peer >= mailbox.peers.load(std::memory_order_acquire)) return {};
    return wire::range_of_peer(mailbox, peer);
  }

  result<void> protect(const wire::protect_message& message) {
    if (backend() == nullptr) {
      return error{.code = errc::protocol_violation, .message = "rights before a configuration"};
    }
    auto changed = backend()->protect(message.offset, message.bytes, message.read_only != 0);
    // A refusal for lack of space is the failure of that change; any other failure is the worker's.
    if (!changed && changed.error().code != errc::out_of_memory) return changed;
    return send(wire::plain_message{
        .kind = wire::control::protect_done,
        .code = changed ? 0 : static_cast<std::uint32_t>(changed.error().vendor_code),
        .id = message.id});
  }

  template <class Message>
  result<void> send(const Message& message) {
    return os::send_message(control_, std::as_bytes(std::span(&message, 1)));
  }

  // Messages are sent whole, by any thread.
  os::unique_fd control_;
  heard_messages heard_;
  std::thread listener_;  // ends with the process, without a join
  void (*add_)(operation_table&);
  wire::configure_message configuration_;
  os::mapping mailbox_;
  os::mapping bells_;
  os::mapping segment_;
  os::unique_fd program_wakes_;
  std::unique_ptr<worker::engine> backend_;  // until `begin`
  std::unique_ptr<worker::worker_runtime> runtime_;
};

}  // namespace

std::optional<int> worker_entry(int argc, char** argv, void (*add)(operation_table&)) {
  // A third argument is the space for its title.
  const bool is_worker = argc == 2 || argc == 3;
  if (!is_worker || std::string_view(argv[1]) != worker::worker_argument) return std::nullopt;
  os::hold_standard_places();
  // It was inherited through an `exec`, and must not be inherited again.
  ::fcntl(worker::control_descriptor, F_SETFD, FD_CLOEXEC);
  // A worker must not outlive the thread that started it; if that is gone already, the control
  // socket is closed and `run` ends at once. A core dump would keep the program's memory busy while
  // the next worker waits for it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  os::ignore_group_signals();
  os::raise_descriptor_limit();  // on CUDA each mapped slab holds a descriptor here, too
  worker::look_beside_parent();
  ::prctl(PR_SET_NAME, "troupe-worker");
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  worker_process process(os::unique_fd(worker::control_descriptor), add);
  // No destructors: the lanes may be in a request that never returns, and the system reclaims
  // everything that is held here.
  std::_Exit(process.run());
}

}  // namespace troupe
