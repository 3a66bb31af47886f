#pragma once

#include "backend/cuda/context/call_frame.hpp"

#include <troupe/base/result.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstddef>
#include <cstdint>

namespace troupe::cuda {

/// Memory in a frame to order elements by keys of 64 bits.
struct ordering {
  frame_array<std::uint64_t> keys;  ///< the key of each element; write them after `begin`
  frame_array<std::uint64_t> sorted_keys;
  frame_array<std::uint32_t> indices;
  frame_array<std::uint32_t> sorted_indices;
  std::int64_t count = 0;
  std::size_t temporary_bytes = 0;

  [[nodiscard]] static result<ordering> in(call_frame& c, std::int64_t count);
  /// Enqueues a stable sort and stores the indices of the keys, smallest key first, in a vector of
  /// i32 or i64. `temporary` is the memory that the frame's routines share.
  [[nodiscard]] result<void> enqueue(const any_tensor& to, std::byte* temporary, lane& where) const;
};

}  // namespace troupe::cuda
