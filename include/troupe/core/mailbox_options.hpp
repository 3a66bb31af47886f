#pragma once

#include <cstdint>

namespace troupe {

/// What happens to a message that does not fit its receiver's mailbox.
enum class overflow : std::uint8_t {
  wait,         ///< the sender waits for room, helping the receiver where it can
  reject,       ///< the message is refused: `tell` returns false, an ask gets `errc::mailbox_full`
  drop_oldest,  ///< the oldest message makes room; an ask among them gets `errc::mailbox_full`
};

/// What a mailbox can count.
inline constexpr std::int64_t most_messages = std::int64_t{1} << 22;
inline constexpr std::int64_t most_message_bytes = std::int64_t{1} << 39;

/// The limits of a mailbox. Both hold at once; what the runtime itself sends is not counted.
struct mailbox_options {
  /// Messages; more than `most_messages` count as so many.
  std::int64_t capacity = 65'536;
  /// Sum of `sizeof(M)` or `M::mailbox_bytes()`; more than `most_message_bytes` count as so many.
  std::int64_t capacity_bytes = 256LL << 20U;
  overflow when_full = overflow::wait;
};

}  // namespace troupe
