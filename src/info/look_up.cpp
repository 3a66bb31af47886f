#include "info/look_up.hpp"

#include "os/private_folder.hpp"
#include "os/unique_fd.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <span>
#include <string_view>

namespace troupe::info {
namespace {

using clock = std::chrono::steady_clock;

// Loading the first library from a cold disk takes seconds.
constexpr std::chrono::seconds timeout(15);

std::vector<entry> no_answer(const std::string& name, const std::string& why) {
  entry one{.name = name, .text = "unknown: " + why};
  one.fact("problem", std::string_view(why));
  return {std::move(one)};
}

// Until the other side has written everything, or the deadline. False for the latter.
bool read_until(clock::time_point deadline, const os::unique_fd& from, std::string& text) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now()).count();
    pollfd look{.fd = from.get(), .events = POLLIN, .revents = 0};
    if (left <= 0) return false;
    if (::poll(&look, 1, static_cast<int>(left)) <= 0) continue;
    char piece[4096];
    const ssize_t got = ::read(from.get(), piece, sizeof(piece));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    text.append(piece, static_cast<std::size_t>(got));
  }
}

}  // namespace

std::vector<entry> look_up(const std::string& name,
                           const std::function<std::vector<entry>()>& ask) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return no_answer(name, std::strerror(errno));
  const os::unique_fd out(ends[0]);
  os::unique_fd in(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return no_answer(name, std::strerror(errno));
  if (child == 0) {
    const std::string answer = encode(ask());
    const bool written = os::write_all(in, std::as_bytes(std::span(answer)));
    // Without the destructors of the libraries, which may wait for their threads.
    ::_exit(written ? 0 : 1);
  }
  in.reset();
  std::string answer;
  const bool in_time = read_until(clock::now() + timeout, out, answer);
  if (!in_time) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!in_time) return no_answer(name, fmt::format("no answer within {} s", timeout.count()));
  if (WIFSIGNALED(status)) {
    return no_answer(name, fmt::format("the look-up ended by signal {} ({})", WTERMSIG(status),
                                       ::strsignal(WTERMSIG(status))));
  }
  if (WEXITSTATUS(status) != 0) {
    return no_answer(name, fmt::format("the look-up ended with status {}", WEXITSTATUS(status)));
  }
  return decode(answer);
}

}  // namespace troupe::info
