#include "os/message_socket.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace troupe::os {
namespace {

constexpr std::size_t max_descriptors = 64;

int flag_of(wait_mode how) noexcept { return how == wait_mode::blocking ? 0 : MSG_DONTWAIT; }

}  // namespace

result<std::pair<unique_fd, unique_fd>> message_socket_pair() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return system_failure("socketpair", errno);
  }
  unique_fd first(ends[0]);
  unique_fd second(ends[1]);
  if (!first || !second) return system_failure("fcntl(F_DUPFD_CLOEXEC)", errno);
  return std::pair(std::move(first), std::move(second));
}

result<void> send_message(const unique_fd& socket, std::span<const std::byte> bytes,
                          std::span<const int> descriptors, wait_mode how) {
  if (descriptors.size() > max_descriptors) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("{} descriptors in one message", descriptors.size())};
  }
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(max_descriptors * sizeof(int))] = {};
  if (!descriptors.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket.get(), &message, MSG_NOSIGNAL | flag_of(how));
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return system_failure("sendmsg", errno);
  return {};
}

result<received_message> receive_message(const unique_fd& socket, std::span<std::byte> to,
                                         wait_mode how, std::size_t most_descriptors) {
  iovec part{to.data(), to.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(max_descriptors * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  // The kernel closes descriptors that do not fit.
  if (const std::size_t most = std::min(most_descriptors, max_descriptors); most > 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(most * sizeof(int));
  }
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket.get(), &message, MSG_CMSG_CLOEXEC | flag_of(how));
  } while (got < 0 && errno == EINTR);
  if (got < 0) return system_failure("recvmsg", errno);

  received_message received{.bytes = static_cast<std::size_t>(got), .descriptors = {}};
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      received.descriptors.emplace_back(descriptor);
    }
  }
  if ((message.msg_flags & MSG_TRUNC) != 0) {
    return error{.code = errc::protocol_violation,
                 .message = fmt::format("a control message larger than {} bytes", to.size())};
  }
  // Rounding may have left space for one more.
  if ((message.msg_flags & MSG_CTRUNC) != 0 || received.descriptors.size() > most_descriptors) {
    return error{.code = errc::protocol_violation,
                 .message = fmt::format("a control message with more than {} descriptors, or more "
                                        "than this process may have",
                                        most_descriptors)};
  }
  return received;
}

}  // namespace troupe::os
