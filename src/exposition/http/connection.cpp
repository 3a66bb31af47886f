#include "exposition/http/connection.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace troupe::telemetry {

void connection::write_some(clock::time_point at) noexcept {
  while (wants_to_write()) {
    const ::ssize_t n =
        ::send(socket.get(), out.data() + written, out.size() - written, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (n <= 0) {
      now = phase::has_ended;
      return;
    }
    written += static_cast<std::size_t>(n);
    ends_at = at + patience;
  }
  out.clear();
  written = 0;
  if (now == phase::writes) {
    now = phase::says_bye;
    ends_at = at + std::chrono::seconds(1);
    (void)::shutdown(socket.get(), SHUT_WR);
  }
}

void connection::read_some(std::size_t most) {
  std::array<char, 4096> piece{};
  for (;;) {
    const ::ssize_t n = ::recv(socket.get(), piece.data(), piece.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (n <= 0) {
      now = phase::has_ended;
      return;
    }
    if (now == phase::reads) in.append(piece.data(), static_cast<std::size_t>(n));
    // The rest in the next turn: others want theirs.
    if (now != phase::reads || in.size() >= most) return;
  }
}

void connection::append(const std::string& bytes, clock::time_point at) {
  if (!wants_to_write()) ends_at = at + patience;
  out.erase(0, written);
  written = 0;
  out += bytes;
  if (out.size() > most_unread) now = phase::has_ended;
}

}  // namespace troupe::telemetry
