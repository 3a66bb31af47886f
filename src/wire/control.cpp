#include "wire/control.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::wire {
namespace {

// 0 for an unknown kind.
std::size_t bytes_of(control kind) noexcept {
  switch (kind) {
    case control::hello:
      return sizeof(hello_message);
    case control::configure:
      return sizeof(configure_message);
    case control::map:
    case control::unmap:
    case control::share:
      return sizeof(memory_message);
    case control::protect:
      return sizeof(protect_message);
    case control::failed:
      return sizeof(failed_message);
    case control::missing:
      return sizeof(missing_message);
    case control::begin:
    case control::ready:
    case control::warm:
    case control::protect_done:
    case control::ping:
    case control::pong:
    case control::serves:
      return sizeof(plain_message);
  }
  return 0;
}

}  // namespace

bool list_paths(std::span<const std::string> paths, std::span<char> to) noexcept {
  std::ranges::fill(to, '\0');
  for (const std::string& path : paths) {
    if (path.empty() || path.find('\0') != std::string::npos || path.size() >= to.size()) {
      return false;
    }
    path.copy(to.data(), path.size());
    to = to.subspan(path.size() + 1);
  }
  return true;
}

std::vector<std::string> listed_paths(std::span<const char> bytes) {
  std::vector<std::string> paths;
  while (!bytes.empty() && bytes.front() != '\0') {
    const auto end = std::ranges::find(bytes, '\0');
    paths.emplace_back(bytes.begin(), end);
    bytes = bytes.subspan(std::min(paths.back().size() + 1, bytes.size()));
  }
  return paths;
}

result<void> check_whole(const any_message& message, std::size_t received_bytes) {
  if (received_bytes < sizeof(control)) {
    return error{.code = errc::protocol_violation,
                 .message = fmt::format("a control message of {} bytes", received_bytes)};
  }
  const std::size_t whole = bytes_of(message.kind);
  if (whole == 0 || received_bytes != whole) {
    return error{.code = errc::protocol_violation,
                 .message = fmt::format("control message {} of {} bytes",
                                        static_cast<std::uint32_t>(message.kind), received_bytes)};
  }
  return {};
}

}  // namespace troupe::wire
