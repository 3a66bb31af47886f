#include "programs.hpp"

#include "operations.hpp"

#include <troupe/device/lease.hpp>
#include <troupe/fault/inject.hpp>
#include <troupe/lane/marker.hpp>
#include <troupe/memory/fill.hpp>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

constexpr int report_descriptor = 4;

int idle() {
  troupe::system system;
  device gpu = system.device(0, permissive());
  if (!gpu.wait_until_ready() || !eventually([&] { return gpu.health().standby_ready; })) return 1;
  const pid_t pids[2] = {gpu.worker_pid().value(), gpu.health().standby_pid.value()};
  if (::write(report_descriptor, pids, sizeof(pids)) != sizeof(pids)) return 1;
  for (;;)
    ::pause();
}

int condemned() {
  troupe::system system;
  device_config config = permissive();
  config.isolation = isolation::thread;
  device gpu = system.device(0, config);
  if (!gpu.wait_until_ready()) return 1;
  auto hung = gpu.ask(fault::inject{.what = fault::kind::hang}, {.run_limit = 20ms}).get_result();
  auto later = gpu.ask(lane::marker{}).get_result();
  const bool right = !hung && hung.error().code == errc::device_condemned && !later &&
                     later.error().code == errc::device_condemned &&
                     gpu.health().state == device_state::condemned;
  if (!right) {
    std::fprintf(stderr, "hung: %s\nlater: %s\n",
                 hung ? "answered" : hung.error().to_string().c_str(),
                 later ? "answered" : later.error().to_string().c_str());
  }
  ::_exit(right ? 0 : 1);
}

// A thread of a condemned device goes on when everybody has forgotten about it.
int after_condemnation() {
  constexpr std::int64_t count = 1 << 16;
  troupe::system system;
  device_config config = permissive();
  config.isolation = isolation::thread;
  std::optional<device> gpu = system.device(0, config);
  if (!gpu->wait_until_ready()) return 1;
  // Kept from the first program to the last, as the thread looks at it.
  auto flag = std::make_unique<shared_flag>(*gpu);
  auto output = std::make_unique<host_tensor<float>>(gpu->host_tensor<float>({count}).value());
  const float* const written = output->data();
  const auto hung =
      gpu->ask(hold{.flag = flag->tensor(), .output = *output, .value = 7}, {.run_limit = 20ms})
          .get_result();
  if (hung || hung.error().code != errc::device_condemned) return 2;
  std::atomic<bool> told_of_the_end = false;
  gpu->watch_generation([&](std::optional<std::uint64_t> generation) {
    if (!generation) told_of_the_end = true;
  });
  if (!eventually([&] { return told_of_the_end.load(); })) return 3;
  if (gpu->ask(lane::marker{}).get_result()) return 4;
  (void)gpu->tensor<float>({count});
  // Its memory must be nobody else's.
  output.reset();
  gpu->stop();
  gpu.reset();
  device next = system.device(0, permissive());
  std::vector<host_tensor<float>> others;
  for (int i = 0; i < 8; ++i) {
    others.push_back(next.host_tensor<float>({count}).value());
    for (std::int64_t j = 0; j < count; ++j)
      others.back()[j] = 1;
  }
  flag->set();
  if (!eventually([&] { return std::atomic_ref(const_cast<float&>(written[count - 1])) == 7; })) {
    return 5;
  }
  for (const auto& one : others) {
    for (std::int64_t j = 0; j < count; ++j)
      if (one[j] != 1) return 6;
  }
  return next.ask(lane::marker{}).get_result() ? 0 : 7;
}

bool stopped_by_fork(const error& why) {
  return why.code == errc::device_stopped && why.message.find("fork") != std::string::npos;
}

/// The exit status of that child, or 9 where it had none.
int status_of(pid_t child) {
  int status = -1;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 9;
  return WEXITSTATUS(status);
}

// A copy of this process has none of its threads, and the same memory.
int forked() {
  auto system = std::make_optional<troupe::system>();
  device_config config = permissive();
  config.silence_timeout = 1h;
  auto gpu = std::make_optional(system->device(0, config));
  auto t = std::make_optional(gpu->tensor<float>({1 << 20}).value());
  auto kept = gpu->host_tensor<float>({1 << 20}).value();
  std::ranges::fill(kept.elements(), 3.0F);
  gpu->ask(memory::fill{.to = *t, .value = 2}).get();
  shared_flag flag(*gpu);
  auto held = gpu->ask(hold{.flag = flag.tensor()});
  // Frozen only once the worker has said so, which stands still before it is asked.
  const auto still = gpu->tensor<float>({1 << 20}).value();
  const pid_t worker = gpu->worker_pid().value();
  shared_flag begin(*gpu);
  future<void> frozen;
  std::atomic<bool> is_sent = false;
  std::atomic<bool> go_on = false;
  auto asked = gpu->library("memory").ask(hold{.flag = begin.tensor()}).then([&] {
    frozen = gpu->freeze(still);
    is_sent = true;
    while (!go_on)
      std::this_thread::yield();
  });
  begin.set();
  if (!eventually([&] { return is_sent && gpu->statistics().in_flight == 1; })) return 1;
  ::kill(worker, SIGSTOP);
  go_on = true;
  asked.get();
  // What the freeze still had to do comes before this.
  std::atomic<bool> is_asked = false;
  gpu->watch_generation([&](const auto&) { is_asked = true; });
  if (!eventually([&] { return is_asked.load(); }) || frozen.ready()) return 1;
  const pid_t copy = ::fork();
  if (copy < 0) return 1;
  if (copy == 0) {
    ::alarm(20);
    const auto stopped = [](const auto& outcome) {
      return !outcome && stopped_by_fork(outcome.error());
    };
    if (!stopped(gpu->ask(lane::marker{}).get_result())) ::_exit(2);
    if (!stopped(held.get_result())) ::_exit(3);
    if (!stopped(gpu->tensor<float>({8}))) ::_exit(4);
    if (!stopped(frozen.get_result())) ::_exit(7);
    if (!stopped(gpu->freeze(*t).get_result()) || !stopped(gpu->thaw(still).get_result()) ||
        !stopped(gpu->copy(*t, kept.elements()).get_result())) {
      ::_exit(8);
    }
    bool told_of_end = false;
    gpu->watch_generation([&](const auto& generation) { told_of_end = !generation; });
    if (!told_of_end || gpu->drain(1h)) ::_exit(9);
    gpu->stop();
    {
      const auto ends_here = std::move(gpu);
      const auto and_this = std::move(t);
      const auto this_too = std::move(kept);
      system.reset();
    }
    // What it makes for itself works.
    if (!on_gpu()) {
      troupe::system own;
      device other = own.device(0, permissive());
      if (!other.ask(lane::marker{}).get_result()) ::_exit(5);
      promise<int> never;
      const auto late = never.get_future().timeout(1ms).get_result();
      if (late || late.error().code != errc::timed_out) ::_exit(6);
    }
    ::_exit(0);
  }
  if (const int status = status_of(copy); status != 0) return status;
  ::kill(worker, SIGCONT);
  if (!frozen.get_result()) return 13;
  flag.set();
  if (!held.get_result()) return 10;
  if (gpu->ask(sum{.input = *t}).get() != 2.0 * (1 << 20)) return 11;
  for (const float one : kept.elements())
    if (one != 3.0F) return 12;
  return 0;
}

// What is lent to this process, or soon will be, is not its copy's to give back.
int forked_lender() {
  troupe::system system;
  device gpu = system.device(0, permissive());
  const auto lent = gpu.tensor<float>({8}).value();
  auto loan = std::make_optional(gpu.lend(lent, access::write).get());
  auto after = gpu.library("memory").on_new_lane().ask(memory::fill{.to = lent, .value = 5});
  auto wanted = gpu.lend(lent, access::read);
  const pid_t copy = ::fork();
  if (copy < 0) return 1;
  if (copy == 0) {
    ::alarm(20);
    const auto outcome = wanted.get_result();
    if (outcome || !stopped_by_fork(outcome.error())) ::_exit(2);
    const auto refused = gpu.lend(lent, access::read).get_result();
    if (refused || !stopped_by_fork(refused.error())) ::_exit(3);
    loan.reset();
    ::_exit(0);
  }
  if (const int status = status_of(copy); status != 0) return status;
  if (after.wait_for(50ms)) return 4;
  loan.reset();
  if (!after.get_result()) return 5;
  return wanted.get().data<float>()[3] == 5 ? 0 : 6;
}

class destroyer final : public actor {
 public:
  struct now {};
  explicit destroyer(std::function<void()> what) : what_(std::move(what)) {}
  void handle(now) { what_(); }

 private:
  std::function<void()> what_;
};

/// A system with a device and an actor of its own thread, or not, which `where` destroys; 0 once
/// that has returned and the worker is gone.
int ends_in(const std::function<void(troupe::system&, device&, std::function<void()>)>& where) {
  auto system = std::make_unique<troupe::system>();
  std::optional<device> gpu = system->device(0, permissive());
  if (!gpu->wait_until_ready()) return 1;
  const pid_t worker = gpu->worker_pid().value();
  std::atomic<bool> destroyed = false;
  where(*system, *gpu, [&] {
    gpu.reset();
    system.reset();
    destroyed = true;
  });
  if (!eventually([&] { return destroyed.load(); })) return 2;
  return eventually([&] { return ::kill(worker, 0) != 0; }) ? 0 : 3;
}

int ends_in_device_continuation() {
  return ends_in([](troupe::system&, device& gpu, std::function<void()> destroy) {
    shared_flag flag(gpu);
    (void)gpu.ask(hold{.flag = flag.tensor()}).then([destroy = std::move(destroy)] { destroy(); });
    flag.set();
  });
}

int ends_in_handler(dispatcher by) {
  return ends_in([&](troupe::system& system, device&, std::function<void()> destroy) {
    system.spawn<destroyer>({.run_by = by}, std::move(destroy)).tell(destroyer::now{});
  });
}

// The thread that asks and waits runs the handler itself, if it comes first.
int ends_in_helped_handler() {
  return ends_in([&](troupe::system& system, device&, std::function<void()> destroy) {
    (void)system.spawn<destroyer>(std::move(destroy)).ask(destroyer::now{}).get_result();
  });
}

int ends_in_actor_continuation() {
  return ends_in([&](troupe::system& system, device&, std::function<void()> destroy) {
    (void)system.spawn<destroyer>([] {}).ask(destroyer::now{}).then(std::move(destroy));
  });
}

int ends_by_exit() {
  static troupe::system system;
  static device gpu = system.device(0, permissive());
  if (!gpu.wait_until_ready()) return 1;
  system.spawn<destroyer>([] { std::exit(0); }).tell(destroyer::now{});
  std::this_thread::sleep_for(30s);
  return 2;
}

}  // namespace

int maybe_run_program() {
  const char* name = std::getenv("TROUPE_TEST_PROGRAM");
  if (name == nullptr) return -1;
  ::unsetenv("TROUPE_TEST_PROGRAM");  // its workers are none
  if (std::string_view(name) == "forked") return forked();
  if (std::string_view(name) == "forked_lender") return forked_lender();
  if (std::string_view(name) == "ends_in_device_continuation") return ends_in_device_continuation();
  if (std::string_view(name) == "ends_in_handler") return ends_in_handler(dispatcher::pool);
  if (std::string_view(name) == "ends_in_pinned_handler") {
    return ends_in_handler(dispatcher::pinned);
  }
  if (std::string_view(name) == "ends_in_helped_handler") return ends_in_helped_handler();
  if (std::string_view(name) == "ends_in_actor_continuation") return ends_in_actor_continuation();
  if (std::string_view(name) == "ends_by_exit") return ends_by_exit();
  if (std::string_view(name) == "after_condemnation") ::_exit(after_condemnation());
  return std::string_view(name) == "idle" ? idle() : condemned();
}

pid_t start_program(const std::string& name, int descriptor_4) {
  std::string setting = "TROUPE_TEST_PROGRAM=" + name;
  std::vector<char*> environment{setting.data()};
  for (char** one = environ; *one != nullptr; ++one)
    environment.push_back(*one);
  environment.push_back(nullptr);
  std::string self = "/proc/self/exe";
  char* const arguments[] = {self.data(), nullptr};

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  if (descriptor_4 >= 0) {
    ::posix_spawn_file_actions_adddup2(&actions, descriptor_4, report_descriptor);
  }
  pid_t pid = -1;
  const int failed =
      ::posix_spawn(&pid, self.c_str(), &actions, nullptr, arguments, environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::runtime_error("posix_spawn of this program");
  return pid;
}

}  // namespace troupe::test
