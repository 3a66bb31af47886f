#include "device/selection/not_a_worker.hpp"

#include "os/message_socket.hpp"
#include "wire/control.hpp"
#include "wire/reply.hpp"
#include "worker/process/worker_argument.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace troupe {

std::optional<error> not_a_worker() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string program;
  std::string argument;
  std::string more;
  std::getline(file, program, '\0');
  std::getline(file, argument, '\0');
  if (argument != worker::worker_argument) return std::nullopt;
  std::getline(file, more, '\0');  // its title, perhaps
  if (std::getline(file, more, '\0')) return std::nullopt;
  // A device starts its own program through the name of a link.
  std::error_code unread;
  const std::filesystem::path where = std::filesystem::read_symlink("/proc/self/exe", unread);
  if (!unread) program = where.string();
  error why{.code = errc::worker_not_found,
            .message = fmt::format("{} was started as a worker ({}) and makes a device instead: "
                                   "call troupe::worker_entry first in main",
                                   program, argument)};
  const os::unique_fd control(::fcntl(worker::control_descriptor, F_DUPFD_CLOEXEC, 0));
  if (control) {
    wire::failed_message failed;
    wire::write_failure(failed.why, 0, why);
    (void)os::send_message(control, std::as_bytes(std::span(&failed, 1)));
  }
  return why;
}

}  // namespace troupe
