#include "exposition/http/listener.hpp"

#include "exposition/http/socket_folder.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace troupe::telemetry {
namespace {

constexpr int backlog = 128;

using addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

addresses numeric(const std::string& address, std::uint16_t port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0)
    found = nullptr;
  return {found, &::freeaddrinfo};
}

result<listener> listening(int family, const sockaddr* at, socklen_t length,
                           const std::string& what) {
  listener made;
  made.socket = os::unique_fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.socket) return system_failure("socket", errno, what);
  const int yes = 1;
  (void)::setsockopt(made.socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (::bind(made.socket.get(), at, length) != 0) return system_failure("bind", errno, what);
  if (::listen(made.socket.get(), backlog) != 0) return system_failure("listen", errno, what);
  return made;
}

}  // namespace

bool is_loopback(const std::string& address) {
  const addresses found = numeric(address, 0);
  if (!found) return false;
  if (found->ai_family == AF_INET) {
    constexpr std::uint32_t loopback_network = 127;
    const auto* at = reinterpret_cast<const sockaddr_in*>(found->ai_addr);
    return ntohl(at->sin_addr.s_addr) >> 24 == loopback_network;
  }
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(found->ai_addr)->sin6_addr);
}

result<listener> listen_at(const std::string& address, std::uint16_t port) {
  const addresses found = numeric(address, port);
  if (!found) {
    return error{
        .code = errc::invalid_argument,
        .message = fmt::format("address must be numeric, as 127.0.0.1; it is {}", address)};
  }
  auto made = listening(found->ai_family, found->ai_addr, found->ai_addrlen,
                        fmt::format("{} port {}", address, port));
  if (!made) return made;
  sockaddr_storage own{};
  socklen_t length = sizeof(own);
  if (::getsockname(made->socket.get(), reinterpret_cast<sockaddr*>(&own), &length) != 0)
    return system_failure("getsockname", errno, address);
  // The port has the same place in either family.
  made->port = ntohs(reinterpret_cast<const sockaddr_in*>(&own)->sin_port);
  return made;
}

result<listener> listen_for_user() {
  const std::string folder = socket_folder();
  if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    return system_failure("mkdir", errno, folder);
  // Another user may have made it first.
  struct stat found{};
  if (::lstat(folder.c_str(), &found) != 0) return system_failure("lstat", errno, folder);
  if (!S_ISDIR(found.st_mode) || found.st_uid != ::geteuid() ||
      (found.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return error{.code = errc::system_error,
                 .message = fmt::format("{} must be a folder of this user's alone", folder)};
  }
  remove_dead_sockets(folder);
  constexpr int most_servers = 8;  // in one process
  for (int nth = 0; nth < most_servers; ++nth) {
    const std::string path =
        fmt::format("{}/{}{}.sock", folder, ::getpid(), nth == 0 ? "" : fmt::format("-{}", nth));
    // It gets its name when it listens, so that no other program takes it for a dead one.
    const std::string first = path + ".new";
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    if (first.size() >= sizeof(at.sun_path)) return system_failure("bind", ENAMETOOLONG, first);
    std::strcpy(at.sun_path, first.c_str());
    ::unlink(first.c_str());
    auto made = listening(AF_UNIX, reinterpret_cast<const sockaddr*>(&at), sizeof(at), first);
    if (!made) return made;
    const bool is_named = ::link(first.c_str(), path.c_str()) == 0;
    const int why = errno;
    ::unlink(first.c_str());
    if (!is_named && why == EEXIST) continue;
    if (!is_named) return system_failure("link", why, path);
    made->path = path;
    return made;
  }
  return system_failure("bind", EADDRINUSE, folder);
}

}  // namespace troupe::telemetry
