#pragma once

#include <signal.h>
#include <unistd.h>

namespace troupe::os {

/// For a process that serves the program and ends with it: ignores signals that a terminal, a
/// service manager or a person sends to the whole process group. The program decides how to react;
/// one that ends gracefully needs its helpers until then. Signals that a process causes itself keep
/// their meaning.
inline void ignore_group_signals() noexcept {
  // By a handler: an ignored signal would stay ignored in every program that this process starts.
  struct sigaction nothing{};
  nothing.sa_flags = SA_RESTART;
  nothing.sa_handler = [](int) {};
  ::sigemptyset(&nothing.sa_mask);
  for (const int signal :
       {SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGPROF, SIGIO}) {
    ::sigaction(signal, &nothing, nullptr);
  }
  // A process group of its own is in the background of a terminal, which stops its processes for
  // output (`stty tostop`) or for reading, unless these two signals are ignored.
  ::signal(SIGTTIN, SIG_IGN);
  ::signal(SIGTTOU, SIG_IGN);
  // Libraries without another way to fail raise this one: OpenBLAS does if it gets no threads.
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
