#pragma once

#include "wire/codec.hpp"
#include "wire/layout.hpp"

#include <troupe/request/any_request.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe::wire {

/// The operands of a described reply: it has none.
class no_operands final : public operand_source {
 public:
  [[nodiscard]] result<place> locate(std::string_view field, const any_tensor& t,
                                     access role) override;
};

/// A described reply, encoded. Empty if it cannot be.
[[nodiscard]] std::vector<std::byte> encoded_reply(const any_value& reply);

/// An error's texts together are cut to this by the worker that writes them, and again by the
/// program that reads them: each future keeps them, and a reply's heap is 1 000 times as long.
inline constexpr std::size_t longest_text_bytes = std::size_t{64} << 10;

/// The bytes of an error's texts, as they are written.
[[nodiscard]] std::size_t text_bytes(const error& failure) noexcept;

/// Writes an error into a reply slot, its texts into `to_text`, which is the slot's own or the part
/// of the heap at `heap_place`. The texts are cut to what fits.
void write_failure(reply_slot& to, std::uint64_t ticket, const error& failure,
                   std::span<std::byte> to_text, std::uint32_t heap_place) noexcept;
inline void write_failure(reply_slot& to, std::uint64_t ticket, const error& failure) noexcept {
  write_failure(to, ticket, failure, to.bytes, 0);
}

/// A worker's answer, copied before any of it is read: the worker can still write there.
struct reply_copy {
  reply_slot slot;
  std::vector<std::byte> long_bytes;  ///< the bytes from the heap
  bool is_whole = true;               ///< false: its place in the heap is impossible

  /// The reply, or the texts of an error.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept;
};

/// Copies the reply of a request from a segment with so many slots. False if the reply is another
/// request's.
[[nodiscard]] bool copy_reply(const worker_header* segment, std::uint32_t capacity,
                              std::uint16_t slot, std::uint64_t ticket, reply_copy& to);

/// Whether the request of an error reply had begun, and so may have written.
[[nodiscard]] inline bool had_begun(const reply_slot& slot) noexcept {
  return (slot.code & not_begun) == 0;
}
/// The error of a reply, or nothing if it is a success.
[[nodiscard]] std::optional<error> read_failure(const reply_slot& slot,
                                                std::span<const std::byte> bytes);
[[nodiscard]] inline std::optional<error> read_failure(const reply_slot& slot) {
  return read_failure(slot, slot.bytes);
}

}  // namespace troupe::wire
