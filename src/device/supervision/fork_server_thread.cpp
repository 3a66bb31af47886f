// The thread of a fork server: it starts its processes, reads their messages, and notices their
// ends.
#include "device/supervision/fork_requests.hpp"
#include "os/event.hpp"
#include "os/message_socket.hpp"
#include "os/shared_memory.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace troupe {
namespace {

constexpr std::string_view importing_kind = "importing ";
constexpr std::string_view described_kind = "described";
constexpr std::size_t longest_message = std::size_t{64} * 1024;
constexpr std::size_t longest_description = std::size_t{64} << 20;

// Reads shared memory only; reading anything else might block.
result<std::string> text_in(const os::unique_fd& memory) {
  if (auto checked = os::check_received(memory, 0); !checked) return std::move(checked).error();
  struct stat about{};
  if (::fstat(memory.get(), &about) != 0) return system_failure("fstat", errno);
  const auto bytes = static_cast<std::size_t>(about.st_size);
  if (bytes == 0) return std::string();
  if (bytes > longest_description) {
    return error{.code = errc::protocol_violation,
                 .message = fmt::format("the fork server's description has {} bytes; at most {}",
                                        bytes, longest_description)};
  }
  auto pages = os::map(memory, bytes, os::protection::read);
  if (!pages) return std::move(pages).error();
  return std::string(reinterpret_cast<const char*>(pages->address()), bytes);
}

// Tells a new process which requests the workers of the previous one know.
void tell_known(const os::unique_fd& to, const std::string& text) {
  if (text.empty()) return;
  const auto memory = os::create_shared_memory("troupe-text", text.size());
  if (!memory) return;
  const auto pages = os::map(*memory, text.size(), os::protection::read_write);
  if (!pages) return;
  std::memcpy(pages->address(), text.data(), text.size());
  const std::array descriptors{memory->get()};
  constexpr std::string_view known = "known";
  (void)os::send_message(to, std::as_bytes(std::span(known)), descriptors,
                         os::wait_mode::non_blocking);
}

}  // namespace

void fork_server::parts::run() {
  std::unique_lock lock(mutex);
  while (!stopping) {
    const bool needs_next = current && stale && !next;
    if ((!current && is_wanted()) || needs_next) {
      lock.unlock();
      auto started = start();
      lock.lock();
      take_up(std::move(started), needs_next);
      continue;
    }
    end_idle();
    std::vector<shared_instance> all = retired;
    for (const shared_instance& one : {current, next}) {
      if (one) all.push_back(one);
    }
    std::vector<pollfd> events{{.fd = wakes->get(), .events = POLLIN, .revents = 0}};
    for (const shared_instance& one : all) {
      events.push_back({.fd = one->socket.get(), .events = POLLIN, .revents = 0});
      events.push_back({.fd = one->process.ending(), .events = POLLIN, .revents = 0});
    }
    lock.unlock();
    (void)::poll(events.data(), events.size(), -1);
    os::take_event(*wakes);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool ended = events[2 * i + 2].revents != 0;
      if (!ended && events[2 * i + 1].revents == 0) continue;
      if (!hear_all(all[i]) || ended) end(all[i]);
    }
    lock.lock();
  }
}

// Without the lock.
result<fork_server::parts::shared_instance> fork_server::parts::start() const {
  auto pair = os::message_socket_pair();
  if (!pair) return std::move(pair).error();
  auto started = os::child_process::spawn(settings.command, pair->second, &settings.environment);
  if (!started) {
    error why = std::move(started).error();
    if (why.vendor_code == ENOENT || why.vendor_code == EACCES) why.code = errc::worker_not_found;
    return why;
  }
  auto made = std::make_shared<instance>();
  made->process = *std::move(started);
  made->socket = std::move(pair->first);
  return made;
}

// Meanwhile the device, or the process that it was to replace, may have stopped.
void fork_server::parts::take_up(result<shared_instance> started, bool as_next) {
  if (as_next ? !stale || !current : !is_wanted()) {
    if (started) retired.push_back(*std::move(started));
  } else if (!started) {
    as_next ? go_on_without_next(started.error()) : refuse_waiting(started.error());
  } else if (as_next) {
    next = *std::move(started);
    tell_known(next->socket, known);
  } else {
    wanted = false;
    failed.reset();
    current = *std::move(started);
    tell_known(current->socket, known);
    give_waiting();
  }
}

// Without the lock. False once no more messages can come.
bool fork_server::parts::hear_all(const shared_instance& from) {
  std::array<std::byte, longest_message> buffer;
  for (;;) {
    auto received = os::receive_message(from->socket, buffer, os::wait_mode::non_blocking, 1);
    if (!received && received.error().vendor_code == EAGAIN) return true;
    const std::lock_guard lock(mutex);
    if (!received && received.error().code == errc::protocol_violation) {
      from->failed = std::move(received).error();
      from->process.kill();
      return false;
    }
    if (!received || received->bytes == 0) return false;
    hear(from, {reinterpret_cast<const char*>(buffer.data()), received->bytes},
         received->descriptors);
  }
}

void fork_server::parts::hear(const shared_instance& from, std::string_view message,
                              const std::vector<os::unique_fd>& descriptors) {
  if (auto why = failure_in(message)) {
    from->failed = std::move(why);
  } else if (message.starts_with(importing_kind)) {
    from->activity = readable(message);
    if (from != next) return;
    for (const request& one : waiting)
      say(one.news, message);
  } else if (message.starts_with(described_kind)) {
    auto text =
        descriptors.empty()
            ? std::string(message.substr(std::min(described_kind.size() + 1, message.size())))
            : text_in(descriptors.front());
    if (text) return note_described(from, *std::move(text));
    from->failed = std::move(text).error();
    from->process.kill();
  } else if (from == current && (message == "same" || message == "changed")) {
    from->looks = false;
    stale = message == "changed";
    if (!stale) give_waiting();
  }
}

void fork_server::parts::note_described(const shared_instance& from, std::string text) {
  if (from != current && from != next) return;
  from->loaded = true;
  from->activity.clear();
  description = known = std::move(text);
  if (from == next) ask_next();
  changed.notify_all();
}

// Without the lock. The process has ended or must end: it sends no more messages.
void fork_server::parts::end(const shared_instance& which) {
  std::unique_lock lock(mutex);
  const bool was_next = which == next;
  const bool was_current = which == current;
  if (was_next) next.reset();
  if (was_current) {
    current.reset();
    ask_next();
  }
  std::erase(retired, which);
  lock.unlock();

  // Its socket closes a moment before it exits; the exit status is worth waiting for.
  constexpr int moment_ms = 200;
  pollfd ending{.fd = which->process.ending(), .events = POLLIN, .revents = 0};
  (void)::poll(&ending, 1, moment_ms);
  which->process.kill();
  const os::exit_report report = which->process.reap();

  lock.lock();
  const error why = which->failed.value_or(
      error{.code = errc::device_unavailable,
            .message = fmt::format("the fork server ended {} {}{}{}",
                                   report.signalled ? "by signal" : "with status", report.code,
                                   which->activity.empty() ? "" : " while ", which->activity)});
  if (was_next) go_on_without_next(why);
  if (!was_current || current) return;
  failed = why;
  changed.notify_all();
}

}  // namespace troupe
