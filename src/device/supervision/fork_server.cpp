#include "device/supervision/fork_requests.hpp"
#include "os/message_socket.hpp"
#include "os/thread.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

namespace troupe {
namespace {

constexpr std::string_view failed_kind = "failed ";
constexpr std::string_view loading_kind = "loading";
constexpr std::string_view importing_kind = "importing ";
constexpr std::string_view described_kind = "described ";
constexpr std::size_t longest_message = std::size_t{128} * 1024;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

os::unique_fd copy_of(const os::unique_fd& one) {
  return os::unique_fd(::fcntl(one.get(), F_DUPFD_CLOEXEC, 0));
}

}  // namespace

std::optional<error> failure_in(std::string_view message) {
  if (!message.starts_with(failed_kind)) return std::nullopt;
  message.remove_prefix(failed_kind.size());
  const auto end = message.find(' ');
  const std::string_view code = message.substr(0, end);
  error why{.code = errc::device_unavailable};
  // Those that no second attempt would change, and those that one may.
  for (const errc known : {errc::worker_not_found, errc::library_missing, errc::invalid_argument,
                           errc::version_mismatch, errc::out_of_memory}) {
    if (to_string(known) == code) why.code = known;
  }
  if (end != std::string_view::npos) why.message = message.substr(end + 1);
  return why;
}

fork_server::fork_server(std::unique_ptr<parts> p) : parts_(std::move(p)) {}
fork_server::~fork_server() = default;

result<std::shared_ptr<fork_server>> fork_server::start(config c) {
  if (c.command.empty()) {
    return error{.code = errc::invalid_argument,
                 .message = "fork_server::config::command is empty"};
  }
  auto made = std::make_unique<parts>(std::move(c));
  try {
    made->begin();
  } catch (const std::system_error& none) {
    return system_failure("pthread_create", none.code().value());
  }
  return std::shared_ptr<fork_server>(new fork_server(std::move(made)));
}

result<std::string> fork_server::description(std::chrono::nanoseconds timeout) {
  parts& p = *parts_;
  std::unique_lock lock(p.mutex);
  if (!p.description && p.failed && !p.wanted && !p.socket) return *p.failed;
  p.changed.wait_for(lock, timeout, [&] { return p.description || p.failed || p.stopping; });
  if (p.description) return *p.description;
  if (p.failed) return *p.failed;
  return error{.code = errc::timed_out,
               .message = fmt::format("the fork server has not loaded all after {} ms{}{}",
                                      timeout / std::chrono::milliseconds(1),
                                      p.activity.empty() ? "" : ": ", p.activity)};
}

std::string fork_server::activity() const {
  const std::lock_guard lock(parts_->mutex);
  return parts_->activity;
}

void fork_server::parts::begin() {
  thread = os::start_thread([this] {
    ::prctl(PR_SET_NAME, "troupe-forks");
    run();
  });
}

fork_server::parts::~parts() {
  {
    const std::lock_guard lock(mutex);
    stopping = true;
    // What the thread reads ends; the process ends by the same.
    if (socket) ::shutdown(socket.get(), SHUT_RDWR);
  }
  changed.notify_all();
  if (thread.joinable()) thread.join();
}

bool fork_server::parts::send(const os::unique_fd& to, const request& one) {
  const std::array descriptors{one.control.get(), one.news.get()};
  return bool(os::send_message(to, bytes_of("fork"), descriptors, os::wait_mode::non_blocking));
}

result<void> fork_server::parts::fork(const os::unique_fd& control, const os::unique_fd& news) {
  request one{copy_of(control), copy_of(news)};
  if (!one.control || !one.news) return system_failure("fcntl(F_DUPFD_CLOEXEC)", errno);
  {
    const std::lock_guard lock(mutex);
    if (socket && !given_up && send(socket, one)) return {};
    waiting.push_back(std::move(one));
    wanted = true;
  }
  changed.notify_all();
  return {};
}

void fork_server::parts::give_up_loading() {
  const std::lock_guard lock(mutex);
  if (!socket || !loading) return;
  given_up = true;
  process.kill();
}

void fork_server::parts::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return stopping || wanted; });
    if (stopping) return;
    wanted = false;
    failed.reset();
    auto pair = os::message_socket_pair();
    if (!pair) {
      refuse_waiting(pair.error());
      continue;
    }
    auto started = os::child_process::spawn(settings.command, pair->second, &settings.environment);
    if (!started) {
      error why = std::move(started).error();
      if (why.vendor_code == ENOENT || why.vendor_code == EACCES) why.code = errc::worker_not_found;
      refuse_waiting(why);
      continue;
    }
    pair->second.reset();
    process = *std::move(started);
    loading = true;
    socket = std::move(pair->first);
    for (const request& one : waiting)
      (void)send(socket, one);
    waiting.clear();
    lock.unlock();
    serve();
    lock.lock();
    end_process();
  }
}

// With the lock. Nobody will take up what waits.
void fork_server::parts::refuse_waiting(const error& why) {
  failed = why;
  const std::string text = fmt::format("{}{} {}", failed_kind, to_string(why.code), why.message);
  for (const request& one : waiting)
    (void)os::send_message(one.news, bytes_of(text), {}, os::wait_mode::non_blocking);
  waiting.clear();
  changed.notify_all();
}

// With the lock.
void fork_server::parts::end_process() {
  socket.reset();
  given_up = false;
  // Its socket is gone a moment before it is; how it has ended is worth that moment.
  constexpr int moment_ms = 200;
  pollfd end{.fd = process.ending(), .events = POLLIN, .revents = 0};
  if (!stopping) (void)::poll(&end, 1, moment_ms);
  process.kill();
  const os::exit_report report = process.reap();
  if (!failed) {
    failed =
        error{.code = errc::device_unavailable,
              .message = fmt::format("the fork server ended {} {}{}{}",
                                     report.signalled ? "by signal" : "with status", report.code,
                                     activity.empty() ? "" : " while ", activity)};
  }
  activity.clear();
  changed.notify_all();
}

// Until the process ends, or is to.
void fork_server::parts::serve() {
  std::vector<std::byte> room(longest_message);
  for (;;) {
    auto received = os::receive_message(socket, room, os::wait_mode::blocking);
    if (!received || received->bytes == 0) return;
    hear({reinterpret_cast<const char*>(room.data()), received->bytes});
  }
}

void fork_server::parts::hear(std::string_view message) {
  {
    const std::lock_guard lock(mutex);
    if (message.starts_with(described_kind)) {
      description = message.substr(described_kind.size());
      activity.clear();
      loading = false;
    } else if (message == loading_kind) {
      loading = true;
    } else if (message.starts_with(importing_kind)) {
      activity = message;
    } else if (auto why = failure_in(message)) {
      failed = std::move(why);
    }
  }
  changed.notify_all();
}

}  // namespace troupe
