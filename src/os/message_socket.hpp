#pragma once

#include "os/unique_fd.hpp"

#include <troupe/core/result.hpp>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace troupe::os {

/// A connected pair of sockets that keep message boundaries and carry descriptors.
[[nodiscard]] result<std::pair<unique_fd, unique_fd>> message_socket_pair();

/// Sends one message with descriptors. Never raises SIGPIPE.
[[nodiscard]] result<void> send_message(const unique_fd& socket, std::span<const std::byte> bytes,
                                        std::span<const int> descriptors = {});

struct received_message {
  std::size_t bytes = 0;  ///< 0: the other side is gone
  std::vector<unique_fd> descriptors;
};

/// Receives one message into `room`, waiting for it unless `wait` is false.
/// \errors `protocol_violation` for a message larger than `room`; `system_error` with EAGAIN when
/// there is none and `wait` is false.
[[nodiscard]] result<received_message> receive_message(const unique_fd& socket,
                                                       std::span<std::byte> room, bool wait);

}  // namespace troupe::os
