#pragma once

#include "os/unique_fd.hpp"

#include <troupe/base/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace troupe::os {

/// A connected pair of sockets that keep message boundaries and carry descriptors.
[[nodiscard]] result<std::pair<unique_fd, unique_fd>> message_socket_pair();

enum class wait_mode : std::uint8_t { blocking, non_blocking };

/// Sends one message with descriptors. Never raises SIGPIPE.
/// \errors `system_error` with EAGAIN when the other side has not read what was sent before, and
/// this is not to wait for it.
[[nodiscard]] result<void> send_message(const unique_fd& socket, std::span<const std::byte> bytes,
                                        std::span<const int> descriptors = {},
                                        wait_mode how = wait_mode::blocking);

struct received_message {
  std::size_t bytes = 0;  ///< 0: the other side is gone
  std::vector<unique_fd> descriptors;
};

/// Receives one message into `room`, with at most so many descriptors.
/// \errors `protocol_violation` for a message larger than `room`, or with more descriptors: none of
/// them stays open; `system_error` with EAGAIN when there is none and this is not to wait.
[[nodiscard]] result<received_message> receive_message(const unique_fd& socket,
                                                       std::span<std::byte> room, wait_mode how,
                                                       std::size_t most_descriptors = 0);

}  // namespace troupe::os
