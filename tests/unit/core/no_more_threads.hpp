#pragma once

#include <troupe/base/error.hpp>

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <fstream>
#include <functional>
#include <system_error>
#include <thread>

namespace troupe {

// In a process of its own, which may take no more address space than this from here on.
inline void leave_address_space(rlim_t bytes) {
  std::ifstream sizes("/proc/self/statm");
  rlim_t pages = 0;
  sizes >> pages;
  const rlim_t room = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + bytes;
  const rlimit limit{.rlim_cur = room, .rlim_max = room};
  ::setrlimit(RLIMIT_AS, &limit);
}

// Likewise: it starts no more threads.
inline void start_all_threads_there_are() {
  leave_address_space(16U << 20);
  try {
    for (;;)
      std::thread([] { ::pause(); }).detach();
  } catch (const std::system_error&) {
    return;
  }
}

// While it lives, threads would have more of a stack than there are addresses.
class no_thread_starts {
 public:
  no_thread_starts() {
    ::pthread_getattr_default_np(&before_);
    pthread_attr_t huge;
    ::pthread_attr_init(&huge);
    ::pthread_attr_setstacksize(&huge, std::size_t{1} << 47);
    ::pthread_setattr_default_np(&huge);
    ::pthread_attr_destroy(&huge);
  }
  no_thread_starts(const no_thread_starts&) = delete;
  no_thread_starts& operator=(const no_thread_starts&) = delete;
  ~no_thread_starts() {
    ::pthread_setattr_default_np(&before_);
    ::pthread_attr_destroy(&before_);
  }

 private:
  pthread_attr_t before_{};
};

inline errc code_of_failure(const std::function<void()>& what) {
  try {
    what();
  } catch (const failure& why) {
    std::fputs(why.what(), stderr);
    return why.code();
  }
  return errc{};
}

}  // namespace troupe
