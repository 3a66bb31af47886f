// When a device's journal gets the content of the device's memory.
#include "device/journal/request_notes.hpp"

namespace troupe::journal {

// A request for several devices is no place for one: it may hold what the copies wait for.
bool request_notes::counts_to_checkpoint(const sending& one) noexcept {
  const std::uint64_t every = writer_->options().checkpoint_bytes;
  if (every == 0 || !with_contents_ || one.at == nullptr || one.is_part) return false;
  std::uint64_t bytes = one.bytes;
  for (const block& content : one.contents)
    bytes += content.about.bytes;
  if (since_checkpoint_.fetch_add(bytes, std::memory_order_relaxed) + bytes < every) return false;
  return !writer_->stopped() && !makes_checkpoint_.exchange(true, std::memory_order_relaxed);
}

void request_notes::checkpoint(const std::optional<checkpoint_note>& made) noexcept {
  const std::uint64_t every = writer_->options().checkpoint_bytes;
  try {
    if (made) {
      const std::lock_guard lock(gaps_mutex_);
      checkpoints_.push_back(*made);
      has_gaps_.store(true, std::memory_order_release);
    }
  } catch (const std::bad_alloc&) {
    // A replay begins at an earlier one.
  }
  since_checkpoint_.store(made ? 0 : every - every / 16, std::memory_order_relaxed);
  makes_checkpoint_.store(false, std::memory_order_relaxed);
}

}  // namespace troupe::journal
