#pragma once

#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace troupe::os {

/// While this exists, this thread receives no signals except faults that it causes itself; a thread
/// that it starts inherits that.
class signals_blocked {
 public:
  signals_blocked() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
      ::sigdelset(&all, own);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;
  ~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

/// Starts a thread of this library in a program. The program's signal handling is its own: its
/// handlers run on its own threads, and a signal that it blocks to read from a `signalfd`, or to
/// wait for, is not delivered to a thread of ours instead. \throws std::system_error
template <class Thread = std::thread, class Body>
[[nodiscard]] Thread start_thread(Body&& body) {
  const signals_blocked here;
  return Thread(std::forward<Body>(body));
}

}  // namespace troupe::os
