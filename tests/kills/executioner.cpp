#include "executioner.hpp"

#include <atomic>
#include <csignal>
#include <system_error>

namespace troupe::kills {
namespace {

// Shared with the handler, which runs in the same thread: relaxed.
std::atomic<pid_t> victim{0};
std::atomic<std::int64_t> struck_ns{0};
std::atomic<executioner::scene> current{};
std::atomic<executioner::scene> struck_in{};

void strike(int) noexcept {
  const pid_t who = victim.load(std::memory_order_relaxed);
  if (who <= 0 || struck_ns.load(std::memory_order_relaxed) != 0) return;
  struck_in.store(current.load(std::memory_order_relaxed), std::memory_order_relaxed);
  // The killed process is not reaped before its end was seen, so its number is not reused.
  ::kill(who, SIGKILL);
  struck_ns.store(executioner::clock::now().time_since_epoch().count(), std::memory_order_relaxed);
}

}  // namespace

executioner::executioner() {
  struct sigaction action{};
  action.sa_handler = &strike;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGALRM, &action, nullptr);
  sigevent told{};
  told.sigev_notify = SIGEV_SIGNAL;
  told.sigev_signo = SIGALRM;
  if (::timer_create(CLOCK_MONOTONIC, &told, &timer_) != 0) {
    throw std::system_error(errno, std::generic_category(), "timer_create");
  }
}

executioner::~executioner() {
  rest();
  ::timer_delete(timer_);
}

void executioner::kill_in(pid_t who, std::chrono::nanoseconds delay) {
  struck_ns.store(0, std::memory_order_relaxed);
  victim.store(who, std::memory_order_relaxed);
  itimerspec when{};
  when.it_value.tv_nsec = delay.count();
  ::timer_settime(timer_, 0, &when, nullptr);
}

void executioner::watch(pid_t who) noexcept {
  struck_ns.store(1, std::memory_order_relaxed);  // a late signal strikes no one
  victim.store(who, std::memory_order_relaxed);
}

executioner::clock::time_point executioner::struck_at() noexcept {
  return clock::time_point(clock::duration(struck_ns.load(std::memory_order_relaxed)));
}

executioner::scene executioner::was_at() noexcept {
  return struck_in.load(std::memory_order_relaxed);
}

void executioner::rest() noexcept { victim.store(0, std::memory_order_relaxed); }

bool executioner::has_victim() noexcept { return victim.load(std::memory_order_relaxed) != 0; }

void executioner::note(scene now) noexcept { current.store(now, std::memory_order_relaxed); }

}  // namespace troupe::kills
