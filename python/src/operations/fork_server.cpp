// The process that has imported the modules of operations, and forks workers.
#include "binding.hpp"

#include <dirent.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <vector>

namespace troupe::python {
namespace {

bool in_fork_server = false;

// The threads beside the one that forked last, at that moment.
std::vector<int>& threads_at_fork() {
  static std::vector<int>& all = *new std::vector<int>;
  return all;
}

// Registered before any library, and so called after all of them: those that know of forks have
// ended their threads. One that ends is listed a moment longer.
void note_threads_at_fork() {
  if (is_worker()) return;
  constexpr int most_looks = 20;
  for (int i = 0; i < most_looks; ++i) {
    if (i > 0) ::usleep(1000);
    threads_at_fork().clear();
    DIR* const tasks = ::opendir("/proc/self/task");
    if (tasks == nullptr) return;
    while (const dirent* const one = ::readdir(tasks)) {
      const int number = std::atoi(one->d_name);
      if (number > 0 && number != ::gettid()) threads_at_fork().push_back(number);
    }
    ::closedir(tasks);
    if (threads_at_fork().empty()) return;
  }
}

}  // namespace

bool is_fork_server() noexcept { return in_fork_server; }

void add_fork_server(nb::module_& m) {
  m.def("_begin_fork_server", [] {
    in_fork_server = true;
    ::pthread_atfork(&note_threads_at_fork, nullptr, nullptr);
    // As with a worker, the thread that started it exists for as long as it is wanted.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::prctl(PR_SET_NAME, "troupe-forks");
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    // It is in a group of its own, and nothing that is meant for the program's concerns it.
    ::signal(SIGPIPE, SIG_IGN);
  });
  m.def("_threads_at_fork", [] { return threads_at_fork(); });
  m.def("_end_with_parent", [](int parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
  });
}

}  // namespace troupe::python
