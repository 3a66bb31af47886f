#pragma once

#include "device/submission/device_core.hpp"

#include <troupe/core/system.hpp>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>

namespace troupe {

/// The devices of a system, and the host memory that they share. Stopped with the system.
///
/// Making a device may take long: it is done without the lock, and whoever wants the same one waits
/// for it. Nor is a device let go of under the lock, because that waits for its thread, whose
/// continuations may want one.
class device_registry final : public system_service {
 public:
  static constexpr std::string_view key = "devices";

  enum class if_there : bool { take_it, refuse };

  /// Makes a device, unless there is one of this number that is to be taken, also where it has
  /// stopped: it can be restarted. Another one takes the place of one that has stopped, unless that
  /// has given up and its memory is in use.
  /// \errors `invalid_argument` when there is one that is not to go, or the number cannot be;
  /// `device_stopped` once the system has shut down
  [[nodiscard]] result<std::shared_ptr<device_core>> make(std::int32_t ordinal,
                                                          const device_config& config,
                                                          system& owner, if_there there);
  void stop() noexcept override;

 private:
  class making;

  [[nodiscard]] result<std::shared_ptr<device_core>> make_one(std::int32_t ordinal,
                                                              const device_config& config,
                                                              system& owner);

  std::mutex mutex_;  // guards the next five
  bool ended_ = false;
  std::shared_ptr<memory_pool> host_memory_;
  std::map<std::int32_t, std::shared_ptr<device_core>> devices_;
  std::set<std::int32_t> in_the_making_;
  std::condition_variable made_;
  // Taken before `mutex_`, until a device is among the others: alone by those who want a GPU that
  // no other device has, together by all others.
  std::shared_mutex choice_;
  const std::shared_ptr<ending_devices> ends_ = std::make_shared<ending_devices>();
};

}  // namespace troupe
