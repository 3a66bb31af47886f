#include "neighbour.hpp"

#include "subject.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstdio>

namespace troupe::gpu_test {
namespace {

using namespace std::chrono_literals;

constexpr int timeout_ms = 60'000;  // it may still be starting

struct state {
  std::uint64_t ended = 0;
  std::uint64_t failed = 0;
  std::uint64_t generation = 0;
  std::int64_t longest_ns = 0;
};

}  // namespace

neighbour::neighbour() : program_({"--neighbour"}) {}

std::optional<std::string> neighbour::amiss() {
  const char question = '?';
  (void)::send(program_.socket(), &question, 1, MSG_NOSIGNAL);
  pollfd answer{.fd = program_.socket(), .events = POLLIN, .revents = 0};
  state now;
  if (::poll(&answer, 1, timeout_ms) != 1 ||
      ::recv(program_.socket(), &now, sizeof(now), 0) != sizeof(now)) {
    return "the neighbour does not answer";
  }
  longest_ms_ = static_cast<double>(now.longest_ns) / 1e6;
  const std::uint64_t before = std::exchange(ended_, now.ended);
  if (now.failed != 0) return fmt::format("{} requests of the neighbour failed", now.failed);
  if (now.generation != 1) return "the neighbour's worker was replaced";
  if (now.ended == before) return "the neighbour stands still";
  return std::nullopt;
}

std::optional<std::string> neighbour::finish() {
  const ending end = program_.finish(60s);
  return end.well() ? std::nullopt : std::optional("the neighbour " + end.to_string());
}

int be_neighbour() {
  die_with_parent();
  ::fcntl(companion::companion_descriptor, F_SETFD, FD_CLOEXEC);
  subject self(backend_under_test(), {.seed = 77, .clients = 2, .per_second = 500});
  if (!self.settle()) {
    std::printf("the neighbour: no worker or no standby became ready\n");
    return 1;
  }
  self.load().start(false);
  char question = 0;
  while (::recv(companion::companion_descriptor, &question, 1, 0) == 1) {
    const state now{.ended = self.load().ended(),
                    .failed = self.load().failed(),
                    .generation = self.gpu().generation(),
                    .longest_ns = self.load().take_longest().count()};
    if (::send(companion::companion_descriptor, &now, sizeof(now), MSG_NOSIGNAL) < 0) return 1;
  }
  const findings found = self.load().finish();
  const auto changed = self.changed();
  if (!found.clean()) std::printf("the neighbour: %s\n", found.first.c_str());
  if (changed) std::printf("the neighbour: %s\n", changed->c_str());
  return found.clean() && !changed && self.gpu().generation() == 1 ? 0 : 1;
}

}  // namespace troupe::gpu_test
