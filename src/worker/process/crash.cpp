#include "worker/process/crash.hpp"

#include <troupe/plugin/work_owner.hpp>

#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

namespace troupe::worker::crash {
namespace {

constexpr std::size_t stack_bytes = std::size_t{64} * 1024;

// Set once before any handler can run; handlers only read them.
wire::crash_report* report_to = nullptr;
pid_t own_pid = -1;
// The previous handler of each signal. An interpreter's handler reports where its program was.
struct sigaction before[NSIG];

thread_local running_request current;

// Whether any thread has begun to report. The first one decides; others wait until the process ends
// with it, or for as long as it may take to hand over to the previous handler.
constinit std::atomic<bool> is_claimed{false};
thread_local bool has_claimed = false;
constexpr int longest_wait_ms = 2000;

// Uses only plain loads, stores to permanently mapped memory, and signal-safe calls.
void on_fatal(int signal, siginfo_t* info, void*) noexcept {
  // A process that an operation has forked inherits the handler, but has nothing to report, nor the
  // memory.
  const bool reports = ::getpid() == own_pid;
  const bool is_first = reports && !is_claimed.exchange(true, std::memory_order_relaxed);
  if (reports && !is_first && !has_claimed) (void)::poll(nullptr, 0, longest_wait_ms);
  if (is_first) {
    has_claimed = true;
    report_to->address = reinterpret_cast<std::uint64_t>(info->si_addr);
    // Signals raised by the kernel have a positive code.
    report_to->from_outside = info->si_code <= 0 && info->si_pid != ::getpid() ? 1 : 0;
    report_to->has_ticket = current.active ? 1 : 0;
    report_to->ticket = current.ticket;
    report_to->signal.store(static_cast<std::uint32_t>(signal), std::memory_order_release);
  }
  // After this returns, the previous handler gets the signal; by default it ends the process.
  ::sigaction(signal, &before[signal], nullptr);
  ::raise(signal);
}

}  // namespace

running_request& of_this_thread() noexcept { return current; }

void install(wire::crash_report& report) noexcept {
  report_to = &report;
  own_pid = ::getpid();
  struct sigaction action{};
  action.sa_sigaction = &on_fatal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;  // not one-shot: another thread may be about to crash
  ::sigemptyset(&action.sa_mask);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) {
    ::sigaction(signal, &action, &before[signal]);
  }
}

signal_stack::signal_stack() noexcept {
  void* at =
      ::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return;
  stack_ = at;
  stack_t stack{};
  stack.ss_sp = stack_;
  stack.ss_size = stack_bytes;
  ::sigaltstack(&stack, nullptr);
}

signal_stack::~signal_stack() {
  if (stack_ == nullptr) return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  ::sigaltstack(&none, nullptr);
  ::munmap(stack_, stack_bytes);
}

}  // namespace troupe::worker::crash

namespace troupe {
namespace {

void set_owner(work_owner owner) noexcept {
  worker::crash::running_request& running = worker::crash::of_this_thread();
  running.active = false;  // so that a signal never combines one's ticket with another's state
  running.ticket = owner.ticket;
  running.active = owner.known;
}

}  // namespace

work_owner work_owner::of_this_thread() noexcept {
  const worker::crash::running_request& running = worker::crash::of_this_thread();
  return {.ticket = running.ticket, .known = running.active};
}

works_for::works_for(work_owner owner) noexcept : before_(work_owner::of_this_thread()) {
  set_owner(owner);
}
works_for::~works_for() { set_owner(before_); }

}  // namespace troupe
