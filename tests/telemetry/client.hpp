#pragma once

#include "os/unique_fd.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

/// A client of HTTP that sends what a test says, as it is.
namespace troupe::test {

/// A connection on which nothing waits for longer than 10 s.
[[nodiscard]] inline os::unique_fd connect_to(std::uint16_t port) {
  os::unique_fd made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience{.tv_sec = 10, .tv_usec = 0};
  for (const int way : {SO_SNDTIMEO, SO_RCVTIMEO})
    (void)::setsockopt(made.get(), SOL_SOCKET, way, &patience, sizeof(patience));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int failed = 0;
  do
    failed = ::connect(made.get(), reinterpret_cast<const sockaddr*>(&at), sizeof(at));
  while (failed != 0 && errno == EINTR);  // as below
  if (failed != 0) made.reset();
  return made;
}

inline bool put(const os::unique_fd& to, std::string_view bytes) {
  return ::send(to.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

/// All that comes until the other side closes, or until `enough` is in it.
[[nodiscard]] inline std::string take(const os::unique_fd& from, std::string_view enough = {}) {
  std::string made;
  std::array<char, 4096> piece{};
  while (enough.empty() || made.find(enough) == std::string::npos) {
    const ssize_t n = ::recv(from.get(), piece.data(), piece.size(), 0);
    if (n < 0 && errno == EINTR) continue;  // with a timeout it is not restarted after a signal
    if (n <= 0) break;
    made.append(piece.data(), static_cast<std::size_t>(n));
  }
  return made;
}

struct reply {
  int status = 0;  ///< 0: none
  std::string head;
  std::string body;
};

[[nodiscard]] inline reply split(const std::string& bytes) {
  reply made;
  if (!bytes.starts_with("HTTP/1.1 ")) return made;
  made.status = std::atoi(bytes.c_str() + 9);
  const std::size_t end = bytes.find("\r\n\r\n");
  made.head = bytes.substr(0, end);
  if (end != std::string::npos) made.body = bytes.substr(end + 4);
  return made;
}

/// The reply to these bytes.
[[nodiscard]] inline reply send_raw(std::uint16_t port, std::string_view bytes) {
  const os::unique_fd to = connect_to(port);
  if (!to) return {};
  (void)put(to, bytes);
  return split(take(to));
}

/// The reply to a GET; `fields` are further lines of its head.
[[nodiscard]] inline reply ask(std::uint16_t port, std::string_view path,
                               std::string_view fields = "Host: localhost\r\n") {
  return send_raw(port,
                  "GET " + std::string(path) + " HTTP/1.1\r\n" + std::string(fields) + "\r\n");
}

/// Whether `condition` holds within 10 s.
template <class F>
[[nodiscard]] bool soon(F&& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    ::usleep(2000);
  }
  return true;
}

}  // namespace troupe::test
