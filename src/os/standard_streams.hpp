#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace troupe::os {

/// Where a program has closed its standard streams, nothing that matters must take their places:
/// whatever a library prints would be written there. Opens /dev/null in those that are free.
inline void hold_standard_places() noexcept {
  for (int place = STDIN_FILENO; place <= STDERR_FILENO; ++place) {
    if (::fcntl(place, F_GETFD) < 0) (void)::open("/dev/null", O_RDWR);  // takes the lowest
  }
}

}  // namespace troupe::os
