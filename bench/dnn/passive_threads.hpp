#pragma once

#include <unistd.h>

#include <cstdlib>

namespace troupe::bench {

/// Threads of OpenMP that have nothing to do spin otherwise, which slows down whoever's turn comes
/// next. They read this when they are loaded, so the program begins once more.
inline void keep_threads_passive(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  ::setenv("OMP_WAIT_POLICY", "passive", 1);
  ::execv("/proc/self/exe", argv);
}

}  // namespace troupe::bench
