#include "exposition/http/http_server.hpp"

#include "os/thread.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <iterator>
#include <system_error>
#include <variant>

namespace troupe::telemetry {
namespace {

using phase = connection::phase;

constexpr std::chrono::seconds look_period{1};

}  // namespace

http_server::http_server(parts p)
    : parts_(std::move(p)), wakes_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wakes_) throw std::system_error(errno, std::generic_category(), "eventfd");
  maker_ = os::start_thread([this] {
    ::prctl(PR_SET_NAME, "troupe-facts");
    make_answers();
  });
  try {
    server_ = os::start_thread([this] {
      ::prctl(PR_SET_NAME, "troupe-http");
      serve();
    });
  } catch (...) {
    close();
    throw;
  }
}

void http_server::close() noexcept {
  if (::getpid() != made_in_) return;
  const std::lock_guard only(closing_);
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  wake();
  if (server_.joinable()) server_.join();
  if (maker_.joinable()) maker_.join();
  for (listener& one : parts_.listeners) {
    // A child that was forked may have it, too: the port is free all the same.
    if (one.socket) (void)::shutdown(one.socket.get(), SHUT_RDWR);
    one.socket.reset();
    if (!one.path.empty()) ::unlink(one.path.c_str());
    one.path.clear();
  }
}

void http_server::wake() noexcept {
  const std::uint64_t one = 1;
  (void)!::write(wakes_.get(), &one, sizeof(one));
}

// Needs memory for connections and their texts. Without it, a connection ends, and the others go
// on.
void http_server::serve() {
  std::vector<pollfd> polled;
  clock::time_point looks_at = clock::now();
  for (;;) {
    clock::time_point now = clock::now();
    if (now >= looks_at) {
      parts_.look();
      now = clock::now();
      looks_at = now + look_period;
    }
    const bool accepts = now >= accepts_again_;
    clock::time_point next = accepts ? looks_at : std::min(looks_at, accepts_again_);
    polled.clear();
    polled.push_back({wakes_.get(), POLLIN, 0});
    for (const listener& one : parts_.listeners) {
      polled.push_back({accepts ? one.socket.get() : -1, POLLIN, 0});
    }
    for (const connection& c : connections_) {
      polled.push_back(
          {c.socket.get(), static_cast<short>(c.wants_to_write() ? POLLIN | POLLOUT : POLLIN), 0});
      next = std::min({next, c.ends_at, c.last_end});
    }
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - now);
    (void)::poll(polled.data(), polled.size(), std::max(0, static_cast<int>(wait.count())));
    {
      const std::lock_guard lock(mutex_);
      if (ends_) break;
    }
    now = clock::now();
    auto at = polled.begin() + 1 + std::ssize(parts_.listeners);
    for (connection& c : connections_) {
      try {
        advance(c, (at++)->revents, now);
      } catch (const std::exception&) {
        c.now = phase::has_ended;
      }
    }
    if (polled.front().revents != 0) take_made();
    std::size_t streams = 0;
    std::erase_if(connections_, [&](const connection& c) {
      const bool is_over = c.now == phase::has_ended || now >= c.ends_at || now >= c.last_end;
      if (!is_over && c.now == phase::streams) ++streams;
      return is_over;
    });
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(streams_, streams) == 0) changed_.notify_all();
    }
    // Last, so that those who come now do not end those whose request is there.
    for (std::size_t i = 0; i < parts_.listeners.size(); ++i) {
      if (polled[i + 1].revents != 0) accept_from(parts_.listeners[i]);
    }
  }
  for (const connection& c : connections_)
    (void)::shutdown(c.socket.get(), SHUT_RDWR);
  connections_.clear();
}

void http_server::accept_from(const listener& from) {
  // As many at a time as there may be, so that the first are read before the next come.
  for (std::size_t i = 0; i < most_connections / 2; ++i) {
    connection c{.socket = os::unique_fd(
                     ::accept4(from.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK))};
    const clock::time_point now = clock::now();
    if (!c.socket) {
      // Out of descriptors or memory: `poll` would return at once, again and again.
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        accepts_again_ = now + std::chrono::milliseconds(100);
        make_room();
      }
      return;
    }
    if (connections_.size() >= most_connections) make_room();
    c.number = ++last_number_;
    c.is_local = !from.path.empty();
    c.ends_at = now + connection::patience;
    c.last_end = now + connection::longest;
    connections_.push_back(std::move(c));
    // Most send their request with the connection.
    try {
      advance(connections_.back(), POLLIN, now);
    } catch (const std::exception&) {
      connections_.back().now = phase::has_ended;
    }
  }
}

// Ends the connection that has had the most time. There are fewer streams than connections.
void http_server::make_room() {
  const auto oldest = std::ranges::find_if(
      connections_, [](const connection& c) { return c.now != phase::streams; });
  if (oldest != connections_.end()) connections_.erase(oldest);
}

void http_server::advance(connection& c, short events, clock::time_point now) {
  if (c.now == phase::has_ended) return;
  if ((events & (POLLERR | POLLNVAL)) != 0) {
    c.now = phase::has_ended;
    return;
  }
  if ((events & (POLLIN | POLLHUP)) != 0) c.read_some(longest_head);
  if (c.now == phase::reads && !c.in.empty()) {
    auto head = read_head(c.in);
    if (const auto* refused = std::get_if<http_response>(&head)) {
      respond(c, *refused, now);
    } else if (auto* request = std::get_if<http_request>(&head)) {
      request->is_local = c.is_local;
      if (const auto response = parts_.answer_at_once(*request)) {
        respond(c, *response, now);
      } else if (!give_out({c.number, std::move(*request)})) {
        respond(c, refusal(503, "too many requests at once"), now);
      } else {
        c.now = phase::waits;
        c.ends_at = c.last_end;
      }
    }
  }
  if (c.now != phase::has_ended && (events & POLLOUT) != 0) c.write_some(now);
}

// Requests whose connections have ended meanwhile are there, too.
bool http_server::give_out(job one) {
  const std::lock_guard lock(mutex_);
  if (jobs_.size() >= most_connections) return false;
  jobs_.push_back(std::move(one));
  changed_.notify_all();
  return true;
}

void http_server::respond(connection& c, const http_response& r, clock::time_point now) {
  http_response sent = r;
  if (r.goes_on) {
    const auto streams = std::ranges::count(connections_, phase::streams, &connection::now);
    if (static_cast<std::size_t>(streams) >= most_streams)
      sent = refusal(503, "there are 8 streams of events already");
  }
  c.now = sent.goes_on ? phase::streams : phase::writes;
  if (sent.goes_on) c.last_end = clock::time_point::max();
  c.out = to_bytes(sent);
  c.written = 0;
  c.ends_at = now + connection::patience;
  c.write_some(now);
}

void http_server::take_made() {
  std::uint64_t count = 0;
  (void)!::read(wakes_.get(), &count, sizeof(count));
  std::deque<made> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(made_);
  }
  const clock::time_point now = clock::now();
  for (made& one : all) {
    for (connection& c : connections_) {
      try {
        if (one.connection == 0 && c.now == phase::streams) {
          c.append(one.response.body, now);
          c.write_some(now);
        } else if (c.number == one.connection && c.now == phase::waits) {
          respond(c, one.response, now);
        }
      } catch (const std::exception&) {
        c.now = phase::has_ended;
      }
    }
  }
}

void http_server::make_answers() {
  clock::time_point next_piece = clock::now();
  std::unique_lock lock(mutex_);
  for (;;) {
    if (ends_) return;
    job next;
    if (!jobs_.empty()) {
      next = std::move(jobs_.front());
      jobs_.pop_front();
    } else if (streams_ == 0) {
      changed_.wait(lock);
      continue;
    } else if (clock::now() < next_piece) {
      changed_.wait_until(lock, next_piece);
      continue;
    }
    lock.unlock();
    made one{.connection = next.connection};
    try {
      if (next.connection != 0) {
        one.response = parts_.answer(next.request);
      } else {
        one.response.body = parts_.next_piece();
        next_piece = clock::now() + piece_period;
      }
    } catch (const std::exception& why) {
      one.response = refusal(503, why.what());
    }
    lock.lock();
    made_.push_back(std::move(one));
    lock.unlock();
    wake();
    lock.lock();
  }
}

}  // namespace troupe::telemetry
