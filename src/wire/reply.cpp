#include "wire/reply.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace troupe::wire {
namespace {

// The bytes of a reply, or of an error's texts as far as they are read.
std::size_t bytes_of(const reply_slot& slot) noexcept {
  if (slot.code == 0) return slot.reply_bytes;
  const std::size_t names =
      std::size_t{slot.library_bytes} + slot.call_bytes + slot.code_name_bytes;
  return std::min(names + slot.reply_bytes, longest_text_bytes);
}

}  // namespace

auto no_operands::locate(std::string_view field, const any_tensor& /*t*/, access /*role*/)
    -> result<place> {
  return error{.code = errc::unsupported,
               .message = fmt::format("{}: a reply holds no tensors", field)};
}

std::vector<std::byte> encoded_reply(const any_value& reply) {
  no_operands none;
  std::vector<std::byte> made;
  if (const auto bytes = encode(reply.type(), reply.data(), {}, none)) {
    made.resize(*bytes);
    (void)encode(reply.type(), reply.data(), made, none);
  }
  return made;
}

std::size_t text_bytes(const error& failure) noexcept {
  return std::min(failure.library.size() + failure.call.size() + failure.code_name.size() +
                      failure.message.size(),
                  longest_text_bytes);
}

void write_failure(reply_slot& to, std::uint64_t ticket, const error& failure,
                   std::span<std::byte> to_text, std::uint32_t heap_place) noexcept {
  const auto put = [&](const std::string& text, std::size_t most) {
    std::size_t bytes = std::min({text.size(), to_text.size(), most});
    // Do not cut inside a character.
    while (bytes > 0 && bytes < text.size() && (text[bytes] & 0xc0) == 0x80)
      --bytes;
    std::memcpy(to_text.data(), text.data(), bytes);
    to_text = to_text.subspan(bytes);
    return bytes;
  };
  constexpr std::size_t most = UINT16_MAX;
  to.ticket = ticket;
  to.vendor_code = failure.vendor_code;
  to.code = static_cast<std::uint16_t>(failure.code);
  to.heap_place = heap_place;
  to.library_bytes = static_cast<std::uint16_t>(put(failure.library, most));
  to.call_bytes = static_cast<std::uint16_t>(put(failure.call, most));
  to.code_name_bytes = static_cast<std::uint16_t>(put(failure.code_name, most));
  to.reply_bytes = static_cast<std::uint32_t>(put(failure.message, UINT32_MAX));
}

std::span<const std::byte> reply_copy::bytes() const noexcept {
  if (slot.heap_place != 0) return long_bytes;
  return std::span(slot.bytes).first(std::min(bytes_of(slot), sizeof(slot.bytes)));
}

bool copy_reply(const worker_header* segment, std::uint32_t capacity, std::uint16_t slot,
                std::uint64_t ticket, reply_copy& to) {
  const reply_slot& from = reinterpret_cast<const reply_slot*>(segment + 1)[slot];
  if (reinterpret_cast<const volatile std::uint64_t&>(from.ticket) != ticket) return false;
  std::memcpy(&to.slot, &from, sizeof(to.slot));
  // The copy is what is read: the compiler must not read the original again.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (to.slot.ticket != ticket) return false;
  const std::size_t bytes = bytes_of(to.slot);
  if (to.slot.heap_place == 0) {
    // An error's texts end with the slot, whatever their lengths say.
    to.is_whole = to.slot.code != 0 || bytes <= sizeof(to.slot.bytes);
    return true;
  }
  const std::size_t begin = (std::size_t{to.slot.heap_place} - 1) * heap_unit;
  to.is_whole = begin <= reply_heap_bytes && bytes <= reply_heap_bytes - begin;
  if (to.is_whole) {
    const auto* heap = reinterpret_cast<const std::byte*>(segment) + reply_heap_offset(capacity);
    to.long_bytes.assign(heap + begin, heap + begin + bytes);
  }
  return true;
}

std::optional<error> read_failure(const reply_slot& slot, std::span<const std::byte> bytes) {
  if (slot.code == 0) return std::nullopt;
  const int code = slot.code & ~not_begun;
  if (code == 0 || code > static_cast<int>(errc::system_error)) {
    return error{.code = errc::protocol_violation,
                 .message = fmt::format("a reply with the unknown error code {}", code)};
  }
  error failure{.code = static_cast<errc>(code)};
  failure.vendor_code = slot.vendor_code;
  const auto take = [&](std::size_t wanted) {
    const std::size_t most = std::min(wanted, bytes.size());
    std::string text(reinterpret_cast<const char*>(bytes.data()), most);
    bytes = bytes.subspan(most);
    return text;
  };
  failure.library = take(slot.library_bytes);
  failure.call = take(slot.call_bytes);
  failure.code_name = take(slot.code_name_bytes);
  failure.message = take(slot.reply_bytes);
  return failure;
}

}  // namespace troupe::wire
