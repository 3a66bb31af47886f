#include "device/supervision/supervisor.hpp"

#include "device/selection/locate.hpp"
#include "os/refused_call.hpp"
#include "os/thread.hpp"
#include "worker/plugins/user_plugins.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

namespace troupe {
namespace {

// The device thread does all its work with these calls. It cannot report a refused call, and a
// worker without messages would use up its whole start timeout.
result<void> try_calls() {
  const auto outcome = [](std::string_view call, std::int64_t returned) -> result<void> {
    if (returned >= 0 || !os::call_is_refused(errno)) return {};
    return system_failure(call, errno, "a filter of system calls (seccomp) may refuse it");
  };
  const timespec no_time{};
  if (auto can = outcome("ppoll", ::ppoll(nullptr, 0, &no_time, nullptr)); !can) return can;
  constexpr int no_socket = -1;
  msghdr message{};
  if (auto can = outcome("sendmsg", ::sendmsg(no_socket, &message, 0)); !can) return can;
  return outcome("recvmsg", ::recvmsg(no_socket, &message, 0));
}

}  // namespace

supervisor::supervisor(parts p)
    : parts_(std::move(p)),
      memory_(parts_.device_memory, parts_.host_memory),
      watch_(parts_.completions, parts_.config, parts_.device_memory.on_device()),
      cause_(parts_.completions),
      settlement_(parts_.requests, parts_.completions, cause_, *parts_.environment),
      report_(parts_.journal),
      succession_(plan_for(parts_, memory_), parts_.requests, parts_.completions,
                  *parts_.environment),
      renewal_(parts_.requests, parts_.completions) {
  if (!parts_.device_memory.on_device()) return;
  parts_.device_memory.on_slab([this](const slab_place& slab, bool added) {
    change_memory(added ? wire::control::map : wire::control::unmap,
                  piece_of(wire::device_pool, slab, false));
  });
  const std::uint64_t reach = parts_.host_memory.watch_reach(this, [this](std::uint64_t now) {
    change_memory(wire::control::share, {.pool = wire::host_pool, .bytes = now});
  });
  handle_faults();
  // So that the first host tensors and staged copies find registered memory.
  memory_.set_host_reach(std::max(reach, memory_pool::reach_step_bytes));
}

worker_plan supervisor::plan_for(const parts& p, const worker_memory& memory) {
  return {.config = &p.config,
          .requests = &p.requests,
          .device_memory = &p.device_memory,
          .host_memory = &p.host_memory,
          .picture = &memory.picture(),
          .blobs = p.blobs,
          .program_wakes = p.wakes,
          .executable = worker_executable(p.config),
          .plugin = p.backend.plugin,
          .device = p.backend.description.uuid,
          .ordinal = p.ordinal};
}

result<void> supervisor::begin() {
  if (!parts_.environment->has_device_thread()) {
    start_next();
    return {};
  }
  if (auto can = try_calls(); !can) return can;
  auto program = detail::program_thread::start();
  if (!program) return std::move(program).error();
  program_ = *std::move(program);
  try {
    thread_ = os::start_thread<std::jthread>([this] {
      device_thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
      run();
      device_thread_.store({}, std::memory_order_relaxed);
      unique_function<void()> last;
      {
        const std::lock_guard lock(mutex_);
        has_run_ = true;
        last = std::move(last_act_);
      }
      if (last) last();  // it may destroy the supervisor
    });
  } catch (const std::system_error& none) {
    return system_failure("pthread_create", none.code().value(),
                          "the thread of a device cannot be started");
  }
  has_begun_ = true;
  return {};
}

supervisor::~supervisor() {
  parts_.host_memory.unwatch_reach(this);
  parts_.device_memory.on_slab({});
  if (parts_.backend.source) parts_.backend.source->on_fault({});
  end({.code = errc::device_stopped, .message = "the device was let go"});
}

void supervisor::stop(error reason) {
  if (parts_.completions.is_copy()) return;  // the threads to wait for are in another process
  promise<void> answer;
  future<void> stopped = answer.get_future();
  execute([this, why = std::move(reason), answer = std::move(answer)]() mutable {
    is_let_go_.store(true, std::memory_order_relaxed);
    give_up(std::move(why), true);
    hand_over_continuations();
    answer.set_value();
  });
  if (!has_begun_) {
    const detail::deferred_continuations::holding here;
    run_commands();
  }
  if (must_not_wait()) return;
  stopped.wait();
  if (program_) program_->settle();
}

void supervisor::end(error reason) {
  if (parts_.completions.is_copy()) return;
  execute([this, why = std::move(reason)]() mutable {
    is_let_go_.store(true, std::memory_order_relaxed);
    ending_ = true;
    give_up(std::move(why), true);
  });
  if (!has_begun_ && !ended_) {
    const detail::deferred_continuations::holding here;
    run_commands();
    end_all();
    hand_over_continuations();
  }
  if (must_not_wait()) return;
  const std::lock_guard lock(join_mutex_);
  if (thread_.joinable()) thread_.join();
  if (program_) program_->finish();
}

result<void> supervisor::restart() {
  promise<void> answer;
  future<void> restarted = answer.get_future();
  const bool taken = execute([this, answer = std::move(answer)]() mutable {
    if (state() == device_state::condemned) return answer.set_error(stop_reason());
    if (state() == device_state::stopped) serve_again();
    answer.set_value();
  });
  if (parts_.completions.is_copy()) return reactor::copy_error();
  if (!taken) {
    return error{.code = errc::device_stopped,
                 .message =
                     "it has stopped for good: its system has shut down, or another device "
                     "has its number",
                 .device = parts_.ordinal,
                 .generation = generation()};
  }
  if (!has_begun_) {
    const detail::deferred_continuations::holding here;
    run_commands();
  }
  return restarted.get_result();
}

bool supervisor::must_not_wait() const noexcept {
  return is_this_thread() || (program_ && program_->is_this_thread()) ||
         parts_.completions.has_role();
}

bool supervisor::end_unawaited(unique_function<void()> last) {
  end({.code = errc::device_stopped, .message = "the device was let go"});
  const std::lock_guard lock(mutex_);
  if (has_run_) return false;
  last_act_ = std::move(last);
  thread_.detach();
  return true;
}

device_health supervisor::health() const {
  // In a forked process, the thread that held the lock at the fork does not exist.
  std::unique_lock lock(mutex_, std::defer_lock);
  device_health now;
  if (!parts_.completions.is_copy()) {
    lock.lock();
    now = health_;
  }
  now.state = state();
  now.generation = generation();
  return now;
}

error supervisor::stop_reason() const {
  if (parts_.completions.is_copy()) return reactor::copy_error();
  const std::lock_guard lock(mutex_);
  return stop_reason_.value_or(error{.code = errc::device_stopped});
}

void supervisor::report_life_to(life_listener listener) {
  execute([this, held = std::move(listener)]() mutable {
    life_ = std::move(held);
    // A device that cannot start may have stopped before this was set.
    if (state() == device_state::stopped) life_.has_stopped(stop_reason(), is_let_go());
  });
}

void supervisor::watch(generation_watcher watcher) {
  auto shared = std::make_shared<generation_watcher>(std::move(watcher));
  const bool taken = execute([this, shared] {
    tell(shared, gone());
    const std::lock_guard lock(mutex_);
    watchers_.push_back(shared);
  });
  if (!taken) (*shared)(std::nullopt);
}

void supervisor::publish(device_state state) {
  state_.store(state, std::memory_order_release);
  std::vector<std::shared_ptr<generation_watcher>> watchers;
  const bool gone = state == device_state::stopped || state == device_state::condemned;
  if (state != device_state::ready && !gone) return;
  {
    const std::lock_guard lock(mutex_);
    watchers = watchers_;
  }
  for (const auto& watcher : watchers)
    tell(watcher, gone);
}

// Like a continuation: the thread first finishes its current work.
void supervisor::tell(const std::shared_ptr<generation_watcher>& watcher, bool ended) const {
  promise<void> news;
  (void)news.get_future().then(
      [watcher, now = ended ? std::nullopt : std::optional(generation())] { (*watcher)(now); });
  news.set_value();
}

bool supervisor::execute(unique_function<void()> command) {
  // A forked process has no device thread, and the holder of the mutex may not exist in it.
  if (parts_.completions.is_copy()) return false;
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return false;
    commands_.push_back(std::move(command));
  }
  wake();
  return true;
}

void supervisor::wake() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(parts_.wakes, &one, sizeof(one));
}

memory_piece supervisor::piece_of(wire::pool_number pool, const slab_place& slab, bool writable) {
  return {.pool = pool,
          .offset = slab.offset,
          .bytes = slab.bytes,
          .descriptor = slab.slab->descriptor(),
          .keep = slab.slab,
          .writable = writable};
}

// Called by any thread that allocates.
void supervisor::change_memory(wire::control kind, memory_piece piece) {
  {
    // Number and queue place under one lock, so that workers count in order.
    const std::lock_guard lock(mutex_);
    const std::uint64_t version = memory_.count_change(piece.pool);
    if (ended_) return;
    commands_.emplace_back([this, change = memory_change{kind, std::move(piece), version}] {
      memory_.change(change, workers());
    });
  }
  wake();
}

future<void> supervisor::protect(detail::buffer_ref buffer, bool read_only) {
  auto done = std::make_shared<promise<void>>();
  future<void> answer = done->get_future();
  parts_.completions.track_promise(done);
  const bool taken =
      execute([this, done = std::move(done), asked = std::move(buffer), read_only]() mutable {
        memory_.protect(std::move(done), std::move(asked), read_only, workers());
        finish_protects();
      });
  if (!taken) return make_failed_future<void>(stop_reason());
  return answer;
}

void supervisor::finish_protects() {
  if (memory_.finish_protects(workers(), current_time())) wake();
}

error supervisor::why_unknown(const request_type& type) const {
  const std::string library(type.library());
  {
    const std::lock_guard lock(mutex_);
    for (const worker::missing_library& one : missing_) {
      if (one.name != library) continue;
      return error{.code = errc::library_missing,
                   .message = fmt::format("library {} is not loaded: {}", library, one.why),
                   .library = library};
    }
  }
  if (!worker::is_own_library(library) && parts_.config.forked_by) {
    return error{.code = errc::unsupported,
                 .message = fmt::format(
                     "no executor for {}: what the device's fork server has loaded has none, or "
                     "describes the request differently by now",
                     type.name)};
  }
  if (!worker::is_own_library(library)) {
    return error{
        .code = errc::unsupported,
        .message = fmt::format(
            "no executor for {}: neither the program nor any of the {} plugins in "
            "device_config::plugins provides it, or it was built with a different description of "
            "the request",
            type.name, parts_.config.plugins.size())};
  }
  // An operation that the backend's own plugin lacks has a plugin of its own.
  namespace fs = std::filesystem;
  const fs::path backend(parts_.backend.plugin);
  const fs::path plugin =
      backend.parent_path() / fmt::format("{}-{}.so", backend.stem().string(), library);
  std::error_code failed;
  if (!fs::exists(plugin, failed)) {
    return error{.code = errc::library_missing,
                 .message = fmt::format(
                     "library {} is not installed: there is no plugin {}, and {} was built without "
                     "it; build Troupe with {} in TROUPE_EXECUTORS, or without that option",
                     library, plugin.string(), backend.filename().string(), library),
                 .library = library};
  }
  return error{.code = errc::unsupported,
               .message = "this worker has no executor for the operation"};
}

}  // namespace troupe
