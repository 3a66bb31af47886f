#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace troupe::os {

/// Fills closed standard streams with /dev/null. Otherwise another file would take their places,
/// and the output of libraries would be written to it.
inline void hold_standard_places() noexcept {
  for (int place = STDIN_FILENO; place <= STDERR_FILENO; ++place) {
    if (::fcntl(place, F_GETFD) < 0) (void)::open("/dev/null", O_RDWR);  // takes the lowest
  }
}

}  // namespace troupe::os
