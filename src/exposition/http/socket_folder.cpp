#include "exposition/http/socket_folder.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace troupe::telemetry {
namespace {

std::vector<std::string> sockets_in(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code failed;
  for (const auto& one : std::filesystem::directory_iterator(folder, failed)) {
    if (one.path().extension() == ".sock") found.push_back(one.path());
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace

std::string socket_folder() {
  if (const char* given = std::getenv("XDG_RUNTIME_DIR"); given != nullptr && *given == '/')
    return fmt::format("{}/troupe", given);
  const std::string usual = fmt::format("/run/user/{}", ::geteuid());
  if (::access(usual.c_str(), W_OK) == 0) return usual + "/troupe";
  return fmt::format("/tmp/troupe-{}", ::geteuid());
}

int connect_to(const std::string& path) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  if (path.size() >= sizeof(at.sun_path)) {
    errno = ENAMETOOLONG;
    return -1;
  }
  std::strcpy(at.sun_path, path.c_str());
  const int made = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  // A stopped program accepts no connection.
  const timeval patience{.tv_sec = 2, .tv_usec = 0};
  for (const int way : {SO_SNDTIMEO, SO_RCVTIMEO})
    (void)::setsockopt(made, SOL_SOCKET, way, &patience, sizeof(patience));
  if (made < 0 || ::connect(made, reinterpret_cast<const sockaddr*>(&at), sizeof(at)) == 0)
    return made;
  const int why = errno;
  ::close(made);
  errno = why;
  return -1;
}

std::vector<std::string> live_sockets() {
  std::vector<std::string> found;
  for (const std::string& path : sockets_in(socket_folder())) {
    if (const int one = connect_to(path); one >= 0) {
      ::close(one);
      found.push_back(path);
    }
  }
  return found;
}

void remove_dead_sockets(const std::string& folder) {
  for (const std::string& path : sockets_in(folder)) {
    if (const int one = connect_to(path); one >= 0) {
      ::close(one);
    } else if (errno == ECONNREFUSED) {
      ::unlink(path.c_str());
    }
  }
}

}  // namespace troupe::telemetry
