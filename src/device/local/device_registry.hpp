#pragma once

#include "device/local/local_device.hpp"

#include <troupe/core/system.hpp>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <vector>

namespace troupe {

/// The devices of a system, and the host memory that they share. They stop with the system.
///
/// Making a device may take long, so it happens without the lock; other threads that want the same
/// device wait for it. Nor is a device destroyed under the lock, because that waits for its thread,
/// whose continuations may ask for a device.
class device_registry final : public system_service {
 public:
  static constexpr std::string_view key = "devices";

  enum class if_there : bool { take_it, refuse };

  /// Makes a device, or returns the existing one of this number if it may be taken, even if it has
  /// stopped: it can be restarted. A new device replaces a stopped one, unless that one has given
  /// up and its memory is in use.
  /// \errors `invalid_argument` if the existing device cannot be replaced, or the number is
  /// invalid; `device_stopped` once the system has shut down
  [[nodiscard]] result<std::shared_ptr<local_device>> make(std::int32_t ordinal,
                                                           const device_config& config,
                                                           system& owner, if_there there);
  /// The registry of a system. Throws `failure` (`device_stopped`) once that has shut down.
  [[nodiscard]] static std::shared_ptr<device_registry> of(system& s);
  /// The devices of a system by number; none once that has shut down.
  [[nodiscard]] static std::vector<std::shared_ptr<local_device>> devices_of(const system& s);
  /// False for a device of another system, and for one whose number another device has now.
  [[nodiscard]] bool owns(const local_device& one);
  /// By number.
  [[nodiscard]] std::vector<std::shared_ptr<local_device>> devices();
  /// Held while a request for several devices is published.
  [[nodiscard]] const std::shared_ptr<std::mutex>& order() const noexcept {
    return siblings_->order;
  }
  void stop() noexcept override;

 private:
  class making;

  [[nodiscard]] result<std::shared_ptr<local_device>> make_one(std::int32_t ordinal,
                                                               const device_config& config,
                                                               system& owner);

  std::mutex mutex_;  // guards the next six
  bool ended_ = false;
  std::shared_ptr<event_courier> courier_;  // to the system's log hook
  std::shared_ptr<memory_pool> host_memory_;
  std::map<std::int32_t, std::shared_ptr<local_device>> devices_;
  std::set<std::int32_t> in_the_making_;
  std::condition_variable made_;
  // Locked before `mutex_`, until a device is registered: exclusively to find a GPU that no other
  // device has, shared otherwise.
  std::shared_mutex choice_;
  const std::shared_ptr<sibling_devices> siblings_ = std::make_shared<sibling_devices>();
  const std::shared_ptr<ending_devices> ends_ = std::make_shared<ending_devices>();
};

}  // namespace troupe
