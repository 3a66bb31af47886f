#pragma once

#include <unistd.h>

#include <cstdlib>

namespace troupe::bench {

/// Idle threads of OpenMP spin otherwise, which slows down the next rival. They read this when they
/// are loaded, so the program starts itself again.
inline void keep_threads_passive(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  ::setenv("OMP_WAIT_POLICY", "passive", 1);
  ::execv("/proc/self/exe", argv);
}

}  // namespace troupe::bench
