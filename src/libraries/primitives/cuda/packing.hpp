#pragma once

#include "backend/cuda/context/lane.hpp"

#include <troupe/base/result.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstddef>
#include <cstdint>

/// Moves elements between strided and packed vectors. Only the width of the type matters.
namespace troupe::cuda {

/// Enqueues to[i] = from[i].
[[nodiscard]] result<void> enqueue_copy(const any_tensor& from, const any_tensor& to, lane& where);
/// Enqueues to[i] = from[indices[i]].
template <class Index>
[[nodiscard]] result<void> enqueue_gather(const any_tensor& from, const Index* indices,
                                          const any_tensor& to, const lane& where);

/// Enqueues to[i] = i.
template <class Index>
[[nodiscard]] result<void> enqueue_numbers(Index* to, std::int64_t count, const lane& where);

}  // namespace troupe::cuda
