#pragma once

#include <cstdint>

namespace troupe {

/// What happens to a message that does not fit its receiver's mailbox.
enum class overflow : std::uint8_t {
  wait,         ///< the sender waits for room, helping the receiver where it can
  reject,       ///< the message is refused: `tell` returns false, an ask gets `errc::mailbox_full`
  drop_oldest,  ///< the oldest message makes room; an ask among them gets `errc::mailbox_full`
};

/// The limits of a mailbox. Both hold at once; what the runtime itself sends is not counted.
struct mailbox_options {
  std::int64_t capacity = 65'536;              ///< messages
  std::int64_t capacity_bytes = 256LL << 20U;  ///< sum of `sizeof(M)` or `M::mailbox_bytes()`
  overflow when_full = overflow::wait;
};

}  // namespace troupe
