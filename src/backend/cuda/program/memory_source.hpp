#pragma once

#include "backend/cuda/driver.hpp"
#include "backend/cuda/program/nvml.hpp"
#include "memory/device_source.hpp"

#include <troupe/device/device_description.hpp>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

namespace troupe::cuda {

/// A GPU in the program: allocates its memory and detects its faults, without a context.
class memory_source final : public device_source {
 public:
  [[nodiscard]] static result<std::shared_ptr<device_source>> open(std::int32_t ordinal);
  ~memory_source() override = default;
  memory_source(const memory_source&) = delete;
  memory_source& operator=(const memory_source&) = delete;

  [[nodiscard]] const device_description& description() const noexcept override {
    return description_;
  }
  [[nodiscard]] std::uint64_t granule_bytes() const noexcept override { return granule_; }
  [[nodiscard]] result<std::unique_ptr<memory_slab>> allocate(std::uint64_t bytes) override;
  [[nodiscard]] result<std::unique_ptr<slab_view>> view(const memory_slab& slab,
                                                        std::uint64_t bytes, std::byte* wanted,
                                                        bool writable) override;
  [[nodiscard]] result<std::unique_ptr<address_range>> reserve(std::uint64_t bytes) override;
  [[nodiscard]] result<memory_level> level() override;
  [[nodiscard]] bool read_sensors(gpu_sensors& into) override;
  void describe_link(const device_source& owner, device_link& found) override;
  void on_fault(alarm raise) override;
  [[nodiscard]] bool used_only_by(const std::vector<std::int32_t>& pids) override;

 private:
  memory_source(const driver& d, device_description description);
  // The processes that use the device, and its sensors while somebody asks for them.
  void observe(const std::stop_token& ending) noexcept;
  [[nodiscard]] bool sensors_are_due() const;
  [[nodiscard]] std::optional<gpu_sensors> sensors_now() noexcept;
  void watch(const std::stop_token& ending) noexcept;  // the device's faults

  const driver& driver_;
  device_description description_;
  CUmemAllocationProp kind_{};
  std::uint64_t granule_ = 0;
  std::unique_ptr<nvml_device> management_;  // may be null

  std::mutex mutex_;
  alarm alarm_;                                         // under the mutex
  std::optional<std::vector<std::int32_t>> processes_;  // likewise: as last seen
  std::optional<gpu_sensors> sensors_;                  // likewise: as last read,
  std::chrono::steady_clock::time_point asked_{};       // and when somebody asked last
  std::condition_variable_any ended_;  // never notified: a stop token ends the wait
  std::jthread observer_;
  std::jthread watcher_;
};

}  // namespace troupe::cuda
