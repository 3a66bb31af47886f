// The content of a device's memory, for its journal.
#include "device/journal/request_notes.hpp"
#include "device/local/local_device.hpp"

#include <troupe/memory/copy.hpp>

#include <algorithm>
#include <optional>
#include <vector>

namespace troupe {
namespace {

// A journal takes much larger copies for gaps.
constexpr std::uint64_t piece_bytes = std::uint64_t{16} << 20;

}  // namespace

// It does not wait: the thread may be in the middle of something. Requests of other threads in
// between would leave a content that never was, so then there is no checkpoint.
void local_device::make_checkpoint() noexcept {
  std::optional<journal::checkpoint_note> made;
  try {
    const request_type& type = request_type_of<memory::copy>();
    const manner how{.lane = lane_for(type), .full = if_full::refuse};
    std::uint64_t count = 0;
    bool good = true;
    for (const detail::buffer_ref& one : device_memory_->live()) {
      const auto whole = any_tensor::owned(one, dtype::u8, {static_cast<std::int64_t>(one->bytes)});
      for (std::uint64_t at = 0; good && at < one->bytes; at += piece_bytes) {
        const std::uint64_t end = std::min(one->bytes, at + piece_bytes);
        auto room = allocate(memory_space::host, end - at);
        good = static_cast<bool>(room);
        if (!good) break;
        const memory::copy request{
            .from = whole.slice(0, static_cast<std::int64_t>(at), static_cast<std::int64_t>(end))
                        .value(),
            .to = any_tensor::owned(*std::move(room), dtype::u8,
                                    {static_cast<std::int64_t>(end - at)})};
        prepared_request ready;
        good = static_cast<bool>(make_ready(ready, type, &request, {}, how));
        if (!good) break;
        const std::uint64_t ticket = publish(std::move(ready), {}, false).ticket;
        if (!made) made = journal::checkpoint_note{.first = ticket, .last = ticket};
        made->last = ticket;
        ++count;
      }
    }
    if (made && (!good || made->last - made->first + 1 != count)) made.reset();
  } catch (const std::bad_alloc&) {
    made.reset();
  }
  notes_->checkpoint(made);
}

}  // namespace troupe
