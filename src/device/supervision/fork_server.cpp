#include "device/supervision/fork_requests.hpp"
#include "os/event.hpp"
#include "os/message_socket.hpp"
#include "os/thread.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

#include <array>
#include <cerrno>
#include <span>
#include <system_error>
#include <utility>

namespace troupe {
namespace {

constexpr std::string_view failed_kind = "failed ";
constexpr std::size_t longest_text = std::size_t{16} * 1024;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

os::unique_fd copy_of(const os::unique_fd& one) {
  return os::unique_fd(::fcntl(one.get(), F_DUPFD_CLOEXEC, 0));
}

}  // namespace

std::string readable(std::string_view text) {
  std::string kept(text);
  std::erase_if(kept, [](char c) { return c >= 0 && c < ' ' && c != '\n' && c != '\t'; });
  while (kept.ends_with('\n'))
    kept.pop_back();
  if (kept.size() > longest_text) {
    kept.replace(longest_text / 2, kept.size() - longest_text, "\n[…]\n");
  }
  return kept;
}

std::optional<error> failure_in(std::string_view message) {
  if (!message.starts_with(failed_kind)) return std::nullopt;
  message.remove_prefix(failed_kind.size());
  const auto end = message.find(' ');
  const std::string_view code = message.substr(0, end);
  error why{.code = errc::device_unavailable};
  // Errors that a second attempt cannot change, and errors that it may.
  for (const errc known : {errc::worker_not_found, errc::library_missing, errc::invalid_argument,
                           errc::version_mismatch, errc::out_of_memory}) {
    if (to_string(known) == code) why.code = known;
  }
  if (end != std::string_view::npos) why.message = readable(message.substr(end + 1));
  return why;
}

std::string message_of(const error& why) {
  return fmt::format("{}{} {}", failed_kind, to_string(why.code), why.message);
}

fork_server::fork_server(std::unique_ptr<parts> p) : parts_(std::move(p)) {}
fork_server::~fork_server() = default;

result<std::shared_ptr<fork_server>> fork_server::start(config c) {
  if (c.command.empty()) {
    return error{.code = errc::invalid_argument,
                 .message = "fork_server::config::command is empty"};
  }
  auto made = std::make_unique<parts>(std::move(c));
  if (auto begun = made->begin(); !begun) return std::move(begun).error();
  return std::shared_ptr<fork_server>(new fork_server(std::move(made)));
}

result<std::string> fork_server::description(std::chrono::nanoseconds timeout) {
  parts& p = *parts_;
  std::unique_lock lock(p.mutex);
  p.changed.wait_for(lock, timeout, [&] { return p.description || p.failed || p.stopping; });
  if (p.description) return *p.description;
  if (p.failed) return *p.failed;
  const std::string activity = p.current ? p.current->activity : "";
  return error{.code = errc::timed_out,
               .message = fmt::format("the fork server was still loading after {} ms{}{}",
                                      timeout / std::chrono::milliseconds(1),
                                      activity.empty() ? "" : ": ", activity)};
}

std::string fork_server::activity() const {
  const std::lock_guard lock(parts_->mutex);
  const auto& loads = parts_->next ? parts_->next : parts_->current;
  return loads ? loads->activity : "";
}

// A process that is gone or does not read is noticed elsewhere.
void fork_server::parts::say(const os::unique_fd& to, std::string_view text) {
  (void)os::send_message(to, bytes_of(text), {}, os::wait_mode::non_blocking);
}

result<void> fork_server::parts::begin() {
  auto event = os::create_event();
  if (!event) return std::move(event).error();
  wakes = std::make_shared<const os::unique_fd>(*std::move(event));
  try {
    thread = os::start_thread([this] {
      ::prctl(PR_SET_NAME, "troupe-forks");
      run();
    });
  } catch (const std::system_error& none) {
    return system_failure("pthread_create", none.code().value());
  }
  return {};
}

fork_server::parts::~parts() {
  {
    const std::lock_guard lock(mutex);
    stopping = true;
  }
  changed.notify_all();
  wake();
  if (thread.joinable()) thread.join();
}

void fork_server::parts::wake() const noexcept {
  if (wakes) ::eventfd_write(wakes->get(), 1);
}

// Asking for workers ------------------------------------------------------------------------------

result<fork_server::parts::worker_token> fork_server::parts::fork(const os::unique_fd& control,
                                                                  const os::unique_fd& news,
                                                                  urgency how) {
  // When it ends, the process that forked it may be idle.
  worker_token worker(this, [rung = wakes](const void*) { ::eventfd_write(rung->get(), 1); });
  request one{copy_of(control), copy_of(news), worker};
  if (!one.control || !one.news) return system_failure("fcntl(F_DUPFD_CLOEXEC)", errno);
  {
    const std::lock_guard lock(mutex);
    if (current && (how == urgency::at_once || !current->loaded)) {
      give(*current, std::move(one));
    } else {
      waiting.push_back(std::move(one));
    }
    ask_for_changes();
  }
  wake();
  return worker;
}

// With the lock, as all that follow unless they say otherwise.
void fork_server::parts::give(instance& to, request one) {
  const std::array descriptors{one.control.get(), one.news.get()};
  if (os::send_message(to.socket, bytes_of("fork"), descriptors, os::wait_mode::non_blocking)) {
    to.workers.push_back(one.worker);
  } else {
    waiting.push_back(std::move(one));  // for the next process: this one does not read
  }
}

void fork_server::parts::give_waiting() {
  for (request& one : std::exchange(waiting, {})) {
    if (!one.worker.expired()) give(*current, std::move(one));
  }
}

void fork_server::parts::ask_for_changes() {
  if (current && current->loaded && !next && !std::exchange(current->looks, true)) {
    say(current->socket, "look");
  }
}

void fork_server::parts::hurry() {
  const std::lock_guard lock(mutex);
  if (current && current->loaded) give_waiting();
}

void fork_server::parts::give_up() {
  {
    const std::lock_guard lock(mutex);
    if (next && !waiting.empty()) {
      next->process.kill();
    } else {
      ask_next();
    }
  }
  wake();
}

void fork_server::parts::dismiss(const error& why) {
  const std::lock_guard lock(mutex);
  retire(current);
  retire(next);
  for (const shared_instance& one : retired)
    one->process.kill();
  waiting.clear();
  known.clear();
  wanted = stale = false;
  if (!failed) failed = why;
  changed.notify_all();
}

void fork_server::parts::ask_next() {
  retire(current);
  current = std::exchange(next, nullptr);
  stale = false;
  if (current) give_waiting();
}

void fork_server::parts::retire(shared_instance& which) {
  if (which) retired.push_back(std::exchange(which, nullptr));
}

void fork_server::parts::end_idle() {
  for (const shared_instance& one : retired) {
    std::erase_if(one->workers, [](const auto& worker) { return worker.expired(); });
    if (one->workers.empty()) one->process.kill();
  }
}

// No process will take the waiting requests.
void fork_server::parts::refuse_waiting(const error& why) {
  failed = why;
  for (const request& one : waiting)
    say(one.news, message_of(why));
  waiting.clear();
  wanted = false;
  changed.notify_all();
}

// The changed sources cannot be loaded, as in the middle of an edit.
void fork_server::parts::go_on_without_next(const error& why) {
  stale = false;
  if (!current) return;
  say(current->socket, message_of(why));
  give_waiting();
}

}  // namespace troupe
