#pragma once

#include "device/local/local_device.hpp"

#include <troupe/tensor/tensor.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace troupe {

/// The words of a world, and of its ranks (`wire/world_words.hpp`).
struct world_words {
  any_tensor page;
  std::vector<any_tensor> ranks;

  /// Allocates them, all zero, each rank with so much memory for staged input. On GPUs the words of
  /// a rank are in its own memory, where polling is fast, and it waits until they are zero; in host
  /// memory if data go `through_host`.
  /// \errors `out_of_memory`; on GPUs those of a request, and `timed_out`
  [[nodiscard]] static result<world_words> allocate(
      std::span<const std::shared_ptr<local_device>> devices, std::int64_t staging_bytes,
      bool through_host);
};

}  // namespace troupe
