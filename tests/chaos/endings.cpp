#include "endings.hpp"

#include "gpu/faults/fault_cases.hpp"
#include "gpu/faults/subject.hpp"

#include <troupe/memory/fill.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace troupe::chaos {
namespace {

using namespace std::chrono_literals;
using gpu_test::companion;
using gpu_test::subject;

constexpr program_ending all_endings[] = {
    {.name = "program_killed", .signal = SIGKILL},
    {.name = "program_crashed", .signal = SIGSEGV},
    {.name = "program_aborted", .signal = SIGABRT},
    {.name = "program_terminated", .signal = SIGTERM},
    {.name = "program_killed_in_recovery", .signal = SIGKILL, .worker_signal = SIGKILL},
    {.name = "program_killed_at_start",
     .signal = SIGKILL,
     .worker_signal = SIGKILL,
     .standby_too = true},
    {.name = "stop_of_a_killed_worker", .worker_signal = SIGKILL},
    {.name = "stop_of_a_crashed_worker", .worker_signal = SIGSEGV},
    {.name = "stop_of_a_stopped_worker", .worker_signal = SIGSTOP},
    {.name = "stop_without_workers", .worker_signal = SIGKILL, .standby_too = true},
    {.name = "stop_of_stopped_workers", .worker_signal = SIGSTOP, .standby_too = true},
};

constexpr auto start_timeout_ms = 60'000;
constexpr auto end_timeout = 20s;
// The promised limit for workers whose program has died.
constexpr auto orphans_timeout = 2s;
constexpr int requests_at_the_end = 400;

struct word_of_program {
  pid_t worker = -1;
  pid_t standby = -1;
};

// How many requests ended, and how. Outlives the program's main thread's interest in it.
struct answers {
  std::array<std::atomic<int>, requests_at_the_end> ends{};
  std::atomic<int> strange{0};
};

// Descendants of this program; orphans come to it, because it has asked for them.
bool has_children() {
  for (;;) {
    const pid_t ended = ::waitpid(-1, nullptr, WNOHANG);
    if (ended > 0 || (ended < 0 && errno == EINTR)) continue;
    return ended == 0;
  }
}

std::size_t shared_files() {
  std::size_t ours = 0;
  std::error_code none;
  for (const auto& one : std::filesystem::directory_iterator("/dev/shm", none))
    ours += one.path().filename().string().find("troupe") != std::string::npos ? 1u : 0u;
  return ours;
}

void send_signal(const word_of_program& to, const program_ending& how) {
  if (how.worker_signal == 0) return;
  ::kill(to.worker, how.worker_signal);
  if (how.standby_too) ::kill(to.standby, how.worker_signal);
}

// Stops its device with requests in flight. \returns the exit status
int stop_device(subject& self) {
  device& gpu = self.gpu();
  const auto all = std::make_shared<answers>();
  const any_tensor to = gpu.tensor<double>({requests_at_the_end, 64}).value();
  std::vector<future<void>> ended;
  const library_actor where = gpu.library("memory").on_new_lane();
  char word = 0;
  const auto told = [&] {
    pollfd asked{.fd = companion::companion_descriptor, .events = POLLIN, .revents = 0};
    return ::poll(&asked, 1, 0) == 1 &&
           ::recv(companion::companion_descriptor, &word, 1, MSG_DONTWAIT) == 1;
  };
  // Some before the word is given, the rest while the worker dies and the device stops.
  std::jthread stopper;
  for (int i = 0; i < requests_at_the_end; ++i) {
    if (i == requests_at_the_end / 2) {
      while (!told())
        std::this_thread::yield();
      stopper = std::jthread([&] { gpu.stop(); });
    }
    const auto n = static_cast<std::size_t>(i);
    ended.push_back(where.ask(memory::fill{.to = to.slice(0, i, i + 1).value(), .value = 1.0})
                        .then([all, n](const result<void>& outcome) {
                          all->ends[n].fetch_add(1);
                          if (outcome) return;
                          const error& why = const_cast<result<void>&>(outcome).error();
                          // Sent after the stop, it finds its tensor gone first.
                          if (why.code == errc::device_stopped || why.code == errc::stale_buffer)
                            return;
                          if (all->strange.fetch_add(1) == 0)
                            fmt::print(stderr, "{}\n", why.to_string());
                        }));
  }
  for (future<void>& one : ended) {
    if (!one.wait_for(end_timeout)) std::_Exit(2);
  }
  stopper.join();
  for (const std::atomic<int>& ends : all->ends) {
    if (ends.load() != 1) return 3;
  }
  if (all->strange.load() != 0) return 4;
  return gpu.health().state == device_state::stopped ? 0 : 5;
}

std::string meaning(int status) {
  switch (status) {
    case 2:
      return "a request of a device that was stopped never ended";
    case 3:
      return "a request of a device that was stopped did not end exactly once";
    case 4:
      return "a request of a device that was stopped failed with another error";
    case 5:
      return "a device that was stopped is not";
    default:
      return fmt::format("the program ended with status {}", status);
  }
}

std::optional<word_of_program> word_from(const companion& program) {
  pollfd answer{.fd = program.socket(), .events = POLLIN, .revents = 0};
  word_of_program word;
  if (::poll(&answer, 1, start_timeout_ms) != 1 ||
      ::recv(program.socket(), &word, sizeof(word), 0) != sizeof(word)) {
    return std::nullopt;
  }
  return word;
}

}  // namespace

std::span<const program_ending> program_endings() { return all_endings; }

ending_report end_a_program(const program_ending& how, std::uint64_t seed) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::mt19937_64 random(seed);
  const std::size_t files = shared_files();
  ending_report report;
  companion program({"--ending", std::string(how.name), "--seed", std::to_string(seed)});
  const std::optional<word_of_program> pids = word_from(program);
  if (!pids) {
    report.miss = "the program that is to end does not start";
    return report;
  }
  std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
  if (how.signal != 0) {
    send_signal(*pids, how);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 3'000));
    ::kill(program.pid(), how.signal);
  } else {
    report.requests = requests_at_the_end;
    const bool before = random() % 2 == 0;
    if (before) send_signal(*pids, how);
    const char word = '!';
    (void)::send(program.socket(), &word, 1, MSG_NOSIGNAL);
    if (!before) send_signal(*pids, how);
  }
  const gpu_test::ending end =
      how.signal != 0 ? program.finish(end_timeout) : program.wait(end_timeout + 10s);
  if (!end.in_time) {
    report.miss = "the program did not end in time";
  } else if (how.signal != 0 && end.signal != how.signal) {
    report.miss = "the program, which was to be killed, " + end.to_string();
  } else if (how.signal == 0 && !end.well()) {
    report.miss = end.signal != 0 ? "the program " + end.to_string() : meaning(end.status);
  }
  const bool gone = gpu_test::eventually([] { return !has_children(); }, orphans_timeout);
  if (report.miss.empty() && !gone) report.miss = "a worker outlives its program";
  if (report.miss.empty() && shared_files() > files)
    report.miss = "shared memory outlives its program";
  return report;
}

int be_ending_program(const gpu_test::arguments& words) {
  gpu_test::die_with_parent();
  ::signal(SIGSEGV, SIG_DFL);  // a sanitizer catches it, and ends the program with a status
  ::fcntl(companion::companion_descriptor, F_SETFD, FD_CLOEXEC);
  const std::string name = words.text("--ending", "");
  const auto seed = static_cast<std::uint64_t>(words.number("--seed", 1));
  subject self(gpu_test::backend_under_test(), {.seed = seed, .clients = 2});
  if (!self.settle()) return 1;
  const word_of_program word{.worker = self.gpu().worker_pid().value(),
                             .standby = self.gpu().health().standby_pid.value()};
  const bool stops = name.starts_with("stop");
  if (!stops) self.load().start(false);
  if (::send(companion::companion_descriptor, &word, sizeof(word), MSG_NOSIGNAL) < 0) return 1;
  if (stops) return stop_device(self);
  for (;;)
    ::pause();
}

}  // namespace troupe::chaos
