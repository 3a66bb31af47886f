// A sender finds the mailbox full.

#include "base/spin_wait.hpp"
#include "core/dispatch/deferred_continuations.hpp"
#include "device/local/local_device.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <functional>
#include <utility>

namespace troupe {

bool local_device::would_wait() noexcept {
  if (config_.full != when_full::wait || requests_->has_free_slot()) return false;
  completions_->try_poll();  // as a sender does, before it waits
  return !requests_->has_free_slot();
}

result<void> local_device::await_capacity(deadline until, if_full full,
                                          const std::function<bool()>& take) {
  detail::spin_wait spin(completions_->spins());
  for (bool given_way = false;;) {
    completions_->try_poll();
    // Check this before taking the slots that the device's end frees.
    if (supervisor_->gone()) return supervisor_->stop_reason();
    if (take()) return {};
    // Actors stop before devices, so an actor may still be waiting here at shutdown.
    if (guards_ && guards_->home_is_forced()) {
      return error{.code = errc::device_stopped, .message = "its system shuts down"};
    }
    if (config_.full == when_full::reject && full != if_full::wait) {
      // A sender that retries in a loop may occupy the very processor that the worker needs.
      if (!std::exchange(given_way, true)) {
        ::sched_yield();
        continue;
      }
      return error{.code = errc::mailbox_full,
                   .message = fmt::format("the mailbox is full: {} requests are waiting or running "
                                          "(device_config::mailbox_capacity)",
                                          requests_->capacity())};
    }
    if (until && supervisor_->current_time() >= *until) {
      return error{
          .code = errc::deadline_exceeded,
          .message = "the deadline passed while the request waited for space in the mailbox"};
    }
    if (spin.step()) continue;
    detail::deferred_continuations::mine().pause_until(std::chrono::steady_clock::now() +
                                                       std::chrono::microseconds(50));
  }
}

result<void> local_device::take_heap(std::uint16_t slot, std::size_t bytes, deadline until,
                                     if_full full) {
  record& r = completions_->at(slot);
  if (bytes > requests_->heap_bytes()) {
    return error{
        .code = errc::size_overflow,
        .message = fmt::format("the request needs {} bytes, but device_config::mailbox_bytes is {}",
                               bytes, requests_->heap_bytes())};
  }
  r.heap = requests_->take_heap(bytes);
  if (!r.heap) {
    const auto take = [&] { return (r.heap = requests_->take_heap(bytes)).has_value(); };
    if (auto taken = await_capacity(until, full, take); !taken) {
      if (taken.error().code == errc::mailbox_full) {
        taken.error().message = fmt::format(
            "the mailbox is full: the request needs {} bytes, and mailbox_bytes ({}) is in use",
            bytes, requests_->heap_bytes());
      }
      return taken;
    }
  }
  requests_->header(slot).spill_offset = r.heap->offset;
  return {};
}

}  // namespace troupe
