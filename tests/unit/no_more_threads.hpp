#pragma once

#include <troupe/core/error.hpp>

#include <sys/resource.h>
#include <unistd.h>

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
