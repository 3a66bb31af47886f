#include "wire/control.hpp"

#include <fmt/format.h>

namespace troupe::wire {
namespace {

// 0 for a kind that is none.
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
      return sizeof(plain_message);
  }
  return 0;
}

}  // namespace

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
