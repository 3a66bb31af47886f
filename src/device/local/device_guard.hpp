#pragma once

#include "core/system_core.hpp"

#include <troupe/base/error.hpp>
#include <troupe/core/actor.hpp>
#include <troupe/core/system.hpp>

#include <memory>
#include <mutex>
#include <utility>

namespace troupe {

/// Message: the device has stopped.
struct device_ended {
  error why;
  bool by_request = false;  ///< stopped by the program or with its system
};

/// A device's place in the tree of actors. Watching a device means watching this; when the device
/// gives up, this fails with the device's error, and its supervisor decides as for any child.
class device_guard final : public actor {
 public:
  void handle(device_ended ended) {
    if (ended.by_request) return stop();
    // The device is not restarted with a new incarnation of this actor.
    if (default_decider(ended.why) != directive::stop) {
      ended.why = error{.code = errc::device_stopped,
                        .message = "the device has ended",
                        .device = ended.why.device,
                        .generation = ended.why.generation,
                        .cause = std::make_shared<const error>(ended.why)};
    }
    throw failure(std::move(ended.why));
  }
};

/// The guard of a device, a new one after each restart, because a stopped actor stays stopped. Any
/// thread may ask for it; the device thread reports to it.
class device_guards {
 public:
  explicit device_guards(const detail::system_core& home) : home_(home.weak_from_this()) {
    device_is_restarted();
  }

  [[nodiscard]] actor_ref<device_guard> current() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }
  void device_has_stopped(const error& why, bool by_request) {
    const auto guard = current();
    if (!guard.stopped()) guard.tell(device_ended{.why = why, .by_request = by_request});
  }
  /// Whether the system shuts down by force, although work is left.
  [[nodiscard]] bool home_is_forced() const noexcept {
    const auto home = home_.lock();
    return home && home->is_forced();
  }
  void device_is_restarted() {
    const auto home = home_.lock();
    if (!home) return;
    // Its supervisor may have restarted the previous guard.
    if (const auto before = current(); before.valid()) before.stop_after_mailbox();
    detail::actor_traits traits = detail::traits_of<device_guard>();
    traits.is_reported_elsewhere = true;  // as an event of the device
    auto next = detail::typed<device_guard>(
        detail::spawn_child(home->root(), detail::factory_of<device_guard>(), {}, traits));
    const std::lock_guard lock(mutex_);
    current_ = std::move(next);
  }

 private:
  const std::weak_ptr<const detail::system_core> home_;
  mutable std::mutex mutex_;  // guards `current_`
  actor_ref<device_guard> current_;
};

}  // namespace troupe
