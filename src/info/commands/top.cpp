#include "info/commands/top.hpp"

#include "exposition/http/socket_folder.hpp"
#include "os/unique_fd.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace troupe::info {
namespace {

constexpr std::chrono::milliseconds period{1000};

// The address of a program.
struct place {
  std::string socket;  // or:
  std::string host{};
  std::string port{};
  std::string token{};
};

place place_of_url(std::string_view url) {
  url.remove_prefix(std::string_view("http://").size());
  place made;
  if (const auto at = url.find("token="); at != std::string_view::npos)
    made.token = url.substr(at + std::string_view("token=").size());
  url = url.substr(0, url.find('/'));
  const auto colon = url.rfind(':');
  made.host = url.substr(0, colon);
  made.port = colon == std::string_view::npos ? "80" : std::string(url.substr(colon + 1));
  if (made.host.starts_with('[')) made.host = made.host.substr(1, made.host.size() - 2);
  return made;
}

os::unique_fd connect_to(const place& to) {
  if (!to.socket.empty()) return os::unique_fd(telemetry::connect_to(to.socket));
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(to.host.c_str(), to.port.c_str(), &wanted, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
  os::unique_fd made;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    made = os::unique_fd(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval patience{.tv_sec = 5, .tv_usec = 0};
    for (const int way : {SO_SNDTIMEO, SO_RCVTIMEO})
      (void)::setsockopt(made.get(), SOL_SOCKET, way, &patience, sizeof(patience));
    if (::connect(made.get(), one->ai_addr, one->ai_addrlen) == 0) return made;
  }
  return {};
}

// The body of the answer; nothing if there is none, with the reason on stderr.
std::optional<std::string> fetch(const place& from, const std::string& path) {
  const os::unique_fd socket = connect_to(from);
  const std::string request = fmt::format(
      "GET {} HTTP/1.1\r\nHost: {}\r\n{}\r\n", path, from.socket.empty() ? from.host : "localhost",
      from.token.empty() ? "" : fmt::format("Authorization: Bearer {}\r\n", from.token));
  std::string answer;
  if (socket && ::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) > 0) {
    std::array<char, 65'536> piece{};
    for (ssize_t got = 0; (got = ::recv(socket.get(), piece.data(), piece.size(), 0)) > 0;)
      answer.append(piece.data(), static_cast<std::size_t>(got));
  }
  const std::size_t head = answer.find("\r\n\r\n");
  if (head == std::string::npos) {
    fmt::print(stderr, "troupe top: the program does not answer, or has ended\n");
    return std::nullopt;
  }
  std::string body = answer.substr(head + 4);
  if (answer.starts_with("HTTP/1.1 200 ")) return body;
  fmt::print(stderr, "troupe top: {}", body);
  return std::nullopt;
}

std::optional<place> find(std::string_view which) {
  if (which.starts_with("http://")) return place_of_url(which);
  if (which.starts_with("/")) return place{.socket = std::string(which)};
  if (!which.empty())
    return place{.socket = fmt::format("{}/{}.sock", telemetry::socket_folder(), which)};
  const std::vector<std::string> all = telemetry::live_sockets();
  if (all.size() == 1) return place{.socket = all.front()};
  if (all.empty()) {
    fmt::print(stderr,
               "troupe top: no program of this user shows itself; one does with\n"
               "troupe::telemetry::serve(system), in Python system.telemetry()\n");
  } else {
    fmt::print(stderr, "troupe top: which one?\n");
    for (const std::string& one : all)
      fmt::print(stderr, "  troupe top {}\n", one);
  }
  return std::nullopt;
}

// Keys come at once and are not shown, until this is destroyed.
class raw_terminal {
 public:
  raw_terminal() noexcept {
    if (::tcgetattr(STDIN_FILENO, &before_) != 0) return;
    is_set_ = true;
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    (void)::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }
  raw_terminal(const raw_terminal&) = delete;
  raw_terminal& operator=(const raw_terminal&) = delete;
  ~raw_terminal() {
    if (is_set_) (void)::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  /// The key pressed within `period`; 0 for none.
  [[nodiscard]] char key() const {
    pollfd input{.fd = is_set_ ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0};
    char pressed = 0;
    if (::poll(&input, 1, static_cast<int>(period.count())) > 0)
      (void)!::read(STDIN_FILENO, &pressed, 1);
    return pressed;
  }

 private:
  termios before_{};
  bool is_set_ = false;
};

}  // namespace

int show_top(std::string_view which, std::string_view sort, bool once, bool as_json) {
  const auto from = find(which);
  if (!from) return 1;
  std::string order(sort);
  const auto frame = [&] {
    return fetch(*from, as_json ? "/snapshot.json" : "/top?sort=" + order);
  };
  auto text = frame();
  if (!text) return 1;
  if (once || as_json || ::isatty(STDOUT_FILENO) == 0) {
    if (!as_json) {
      // Rates are differences.
      std::this_thread::sleep_for(period);
      text = frame();
    }
    fmt::print("{}", text.value_or(""));
    return text ? 0 : 1;
  }
  const raw_terminal terminal;
  for (; text; text = frame()) {
    fmt::print("\x1b[H\x1b[2J{}\nsort: r rate  t total  f failed  5 p50  9 p99    q ends\n", *text);
    std::fflush(stdout);
    switch (terminal.key()) {
      case 'q':
        return 0;
      case 'r':
        order = "rate";
        break;
      case 't':
        order = "total";
        break;
      case 'f':
        order = "failed";
        break;
      case '5':
        order = "p50";
        break;
      case '9':
        order = "p99";
        break;
      default:
        break;
    }
  }
  return 0;
}

}  // namespace troupe::info
