#pragma once

#include "backend/cuda/context/lane.hpp"

#include <troupe/base/result.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe::cuda {

/// Workspace to order `count` keys: the keys first, then what sorting needs.
[[nodiscard]] result<std::size_t> ordering_bytes(std::int64_t count);

/// Enqueues what stores the order of `to.extent(0)` keys of 64 bits, which `room` begins with, to a
/// vector of i32 or i64: the indices of the keys from the least on, those of equal keys in their
/// own order. `room` has `ordering_bytes`, and is used up.
[[nodiscard]] result<void> enqueue_order(std::span<std::byte> room, const any_tensor& to,
                                         lane& where);

}  // namespace troupe::cuda
