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
/// \errors `system_error` with EAGAIN if the other side has not read earlier messages, and this
/// call must not wait.
[[nodiscard]] result<void> send_message(const unique_fd& socket, std::span<const std::byte> bytes,
                                        std::span<const int> descriptors = {},
                                        wait_mode how = wait_mode::blocking);

struct received_message {
  std::size_t bytes = 0;  ///< 0: the other side is gone
  std::vector<unique_fd> descriptors;
};

/// Receives one message into `to`, with at most so many descriptors.
/// \errors `protocol_violation` for a message larger than `to`, or with more descriptors: none of
/// them stays open; `system_error` with EAGAIN if there is none and this call must not wait.
[[nodiscard]] result<received_message> receive_message(const unique_fd& socket,
                                                       std::span<std::byte> to, wait_mode how,
                                                       std::size_t most_descriptors = 0);

}  // namespace troupe::os
