#pragma once

#include <signal.h>
#include <unistd.h>

namespace troupe::os {

/// For a process that serves the program and ends with it: it takes no notice of what a terminal, a
/// service manager or a person tells all processes of a group. The program decides what becomes of
/// that; one that ends gracefully needs its helpers until then. Signals that a process brings upon
/// itself keep their meaning.
inline void ignore_group_signals() noexcept {
  // By a handler: what is ignored stays ignored in every program that this process starts.
  struct sigaction nothing{};
  nothing.sa_flags = SA_RESTART;
  nothing.sa_handler = [](int) {};
  ::sigemptyset(&nothing.sa_mask);
  for (const int signal :
       {SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGPROF, SIGIO}) {
    ::sigaction(signal, &nothing, nullptr);
  }
  // In a group of its own it is in the background of a terminal, which stops it, and whatever it
  // starts, for its output (`stty tostop`) or for reading: it does neither only where these two
  // are ignored.
  ::signal(SIGTTIN, SIG_IGN);
  ::signal(SIGTTOU, SIG_IGN);
  // Libraries that can do nothing else raise this one: OpenBLAS does where it gets no threads.
  struct sigaction interrupted{};
  interrupted.sa_flags = SA_SIGINFO | SA_RESTART;
  interrupted.sa_sigaction = [](int signal, siginfo_t* from, void*) {
    if (from->si_code > 0 || from->si_pid != ::getpid()) return;
    ::signal(signal, SIG_DFL);
    ::raise(signal);
  };
  ::sigemptyset(&interrupted.sa_mask);
  ::sigaction(SIGINT, &interrupted, nullptr);
}

}  // namespace troupe::os
