#pragma once

#include "backend/cuda/context/registration.hpp"
#include "backend/cuda/driver.hpp"

#include <troupe/plugin/accelerator.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace troupe::cuda {

/// One GPU in one worker: its context, and the memory that is mapped there.
///
/// The context is the device's primary one, which the vendor libraries use too. It is never
/// destroyed: the process ends instead, and after a fault nothing else would help.
class device_accelerator final : public accelerator {
 public:
  /// \errors `device_unavailable` if the device does not exist or no context can be created on it,
  /// with the remedy
  [[nodiscard]] static result<std::unique_ptr<device_accelerator>> make(
      const accelerator_config& config);

  ~device_accelerator() override;
  device_accelerator(const device_accelerator&) = delete;
  device_accelerator& operator=(const device_accelerator&) = delete;

  void enter_thread() override;
  [[nodiscard]] result<void> map(std::byte* at, std::uint64_t bytes, int descriptor) override;
  [[nodiscard]] result<void> unmap(std::byte* at, std::uint64_t bytes) override;
  [[nodiscard]] result<void> protect(std::byte* at, std::uint64_t bytes, bool read_only) override;
  [[nodiscard]] result<void> add_peer(std::byte* base, std::uint64_t bytes) override;
  [[nodiscard]] result<void> map_peer(std::byte* at, std::uint64_t bytes, int descriptor,
                                      bool writable) override;
  [[nodiscard]] result<void> unmap_peer(std::byte* at, std::uint64_t bytes) override;
  [[nodiscard]] result<void> share(std::byte* at, std::uint64_t bytes) override;
  [[nodiscard]] result<std::unique_ptr<accelerator_lane>> make_lane(int number) override;
  [[nodiscard]] bool records_conditions() const noexcept override { return true; }

 private:
  device_accelerator(const driver& d, CUdevice device, CUcontext context) noexcept
      : driver_(d), device_(device), context_(context) {}

  [[nodiscard]] result<void> take_addresses(std::byte* base, std::uint64_t bytes);
  [[nodiscard]] result<void> map_memory(std::byte* at, std::uint64_t bytes, int descriptor);
  [[nodiscard]] result<void> give_access(std::byte* at, std::uint64_t bytes, bool read_only);

  const driver& driver_;
  CUdevice device_;
  CUcontext context_;
  int multiprocessors_ = 0;
  std::shared_ptr<kept_blobs> blobs_;
  library_methods methods_;
  std::map<std::byte*, std::uint64_t> mapped_;  // bytes, by address
  std::vector<host_registration> shared_;
};

}  // namespace troupe::cuda
