#include "wire/reply.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace troupe::wire {

void write_failure(reply_slot& to, std::uint64_t ticket, const error& failure) noexcept {
  std::size_t used = 0;
  const auto put = [&](const std::string& text) {
    const std::size_t bytes = std::min(text.size(), sizeof(to.bytes) - used);
    std::memcpy(to.bytes + used, text.data(), bytes);
    used += bytes;
    return static_cast<std::uint16_t>(bytes);
  };
  to.ticket = ticket;
  to.vendor_code = failure.vendor_code;
  to.code = static_cast<std::uint16_t>(failure.code);
  to.library_bytes = put(failure.library);
  to.call_bytes = put(failure.call);
  to.code_name_bytes = put(failure.code_name);
  to.message_bytes = put(failure.message);
  to.reply_bytes = 0;
}

std::optional<error> read_failure(const reply_slot& slot) {
  if (slot.code == 0) return std::nullopt;
  if (slot.code > static_cast<std::uint16_t>(errc::system_error)) {
    return error{.code = errc::protocol_violation,
                 .message = fmt::format("a reply with the unknown error code {}", slot.code)};
  }
  error failure{.code = static_cast<errc>(slot.code)};
  failure.vendor_code = slot.vendor_code;
  std::size_t used = 0;
  const auto take = [&](std::uint16_t bytes) {
    const std::size_t room = std::min<std::size_t>(bytes, sizeof(slot.bytes) - used);
    std::string text(reinterpret_cast<const char*>(slot.bytes) + used, room);
    used += room;
    return text;
  };
  failure.library = take(slot.library_bytes);
  failure.call = take(slot.call_bytes);
  failure.code_name = take(slot.code_name_bytes);
  failure.message = take(slot.message_bytes);
  return failure;
}

}  // namespace troupe::wire
