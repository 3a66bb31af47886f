#include "os/event.hpp"

#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstdint>

namespace troupe::os {

result<unique_fd> create_event() {
  unique_fd event = clear_of_standard_streams(unique_fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
  if (!event) return system_failure("eventfd", errno);
  return event;
}

void take_event(const unique_fd& event) noexcept {
  std::uint64_t count = 0;
  const iovec room{&count, sizeof(count)};
  // Before Linux 5.8 it cannot be told so for one read.
  if (::preadv2(event.get(), &room, 1, -1, RWF_NOWAIT) < 0 && errno == EOPNOTSUPP) {
    [[maybe_unused]] const ssize_t got = ::read(event.get(), &count, sizeof(count));
  }
}

bool is_event(const unique_fd& what) noexcept {
  struct stat is{};
  // Of the descriptors without a file, which alone are of no type, none waits for a write.
  return ::fstat(what.get(), &is) == 0 && (is.st_mode & S_IFMT) == 0;
}

}  // namespace troupe::os
