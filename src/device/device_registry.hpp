#pragma once

#include "device/device_core.hpp"

#include <troupe/core/system.hpp>

#include <map>
#include <memory>
#include <mutex>

namespace troupe {

/// The devices of a system, and the host memory that they share. Stopped with the system.
class device_registry final : public system_service {
 public:
  static constexpr std::string_view key = "devices";

  /// The device that runs under this number, or nothing.
  [[nodiscard]] std::shared_ptr<device_core> find(std::int32_t ordinal);
  /// Makes one. \errors `invalid_argument` when one runs already or the number cannot be
  [[nodiscard]] result<std::shared_ptr<device_core>> make(std::int32_t ordinal,
                                                          const device_config& config,
                                                          system& owner);
  void stop() noexcept override;

 private:
  [[nodiscard]] std::shared_ptr<device_core> running(std::int32_t ordinal) const;

  std::mutex mutex_;
  std::shared_ptr<memory_pool> host_memory_;
  std::map<std::int32_t, std::shared_ptr<device_core>> devices_;
};

}  // namespace troupe
