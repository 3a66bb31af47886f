#pragma once

#include "backend/cuda/context/call_frame.hpp"

#include <troupe/base/result.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstddef>
#include <cstdint>

namespace troupe::cuda {

/// The order of keys of 64 bits, in a frame.
struct ordering {
  frame_array<std::uint64_t> keys;  ///< of what is ordered; to be written after `begin`
  frame_array<std::uint64_t> sorted_keys;
  frame_array<std::uint32_t> indices;
  frame_array<std::uint32_t> sorted_indices;
  std::int64_t count = 0;
  std::size_t temporary_bytes = 0;

  [[nodiscard]] static result<ordering> in(call_frame& c, std::int64_t count);
  /// Enqueues what stores the indices of the keys, from the least on, in a vector of i32 or i64;
  /// those of equal keys in their own order. `temporary` is what the frame's routines share.
  [[nodiscard]] result<void> enqueue(const any_tensor& to, std::byte* temporary, lane& where) const;
};

}  // namespace troupe::cuda
