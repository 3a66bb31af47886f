#pragma once

#include <cstdint>

namespace troupe {

/// The handling of a message that does not fit in the receiver's mailbox.
enum class overflow : std::uint8_t {
  wait,         ///< the sender waits for room, and runs the receiver itself if it can
  reject,       ///< the message is refused: `tell` returns false, an ask fails with `mailbox_full`
  drop_oldest,  ///< the oldest messages make room; an ask among them fails with `mailbox_full`
};

/// The largest limits that a mailbox supports.
inline constexpr std::int64_t most_messages = std::int64_t{1} << 22;
inline constexpr std::int64_t most_message_bytes = std::int64_t{1} << 39;

/// The limits of a mailbox. Both apply. Messages from the runtime itself are not counted.
struct mailbox_options {
  /// Number of messages; values above `most_messages` mean `most_messages`.
  std::int64_t capacity = 65'536;
  /// Sum of `sizeof(M)` or `M::mailbox_bytes()`; values above `most_message_bytes` mean
  /// `most_message_bytes`.
  std::int64_t capacity_bytes = 256LL << 20U;
  overflow when_full = overflow::wait;
};

}  // namespace troupe
