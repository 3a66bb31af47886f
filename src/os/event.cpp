#include "os/event.hpp"

#include "os/refused_call.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstdint>

namespace troupe::os {

result<unique_fd> create_event() {
  unique_fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) return system_failure("eventfd", errno);
  return event;
}

void take_event(const unique_fd& event) noexcept {
  std::uint64_t count = 0;
  const iovec buffer{&count, sizeof(count)};
  if (::preadv2(event.get(), &buffer, 1, -1, RWF_NOWAIT) >= 0) return;
  if (errno != EOPNOTSUPP && !call_is_refused(errno)) return;
  // Before Linux 5.8, and if that call is refused, a single read cannot be made non-blocking.
  ::fcntl(event.get(), F_SETFL, O_NONBLOCK);
  [[maybe_unused]] const ssize_t got = ::read(event.get(), &count, sizeof(count));
}

bool is_event(const unique_fd& what) noexcept {
  struct stat is{};
  // Among descriptors without a file, which alone have no type, none blocks on a write.
  return ::fstat(what.get(), &is) == 0 && (is.st_mode & S_IFMT) == 0;
}

}  // namespace troupe::os
