#pragma once

#include "backend/cuda/lane.hpp"

#include <troupe/core/result.hpp>
#include <troupe/memory/tensor.hpp>

#include <cstdint>

namespace troupe::cuda {

/// Enqueues copying the pivots [batch, n] to `to`, each that is not within 1 … n replaced by its
/// own row's number: so that none is followed out of its matrix.
///
/// With `spoiled` not null, a matrix of `spoiled` [batch, …] whose pivots are bad is filled with
/// NaNs: what comes out of it then shows that it is no solution.
[[nodiscard]] result<void> admit_pivots(lane& where, const any_tensor& pivots, std::int32_t* to,
                                        const any_tensor* spoiled);

}  // namespace troupe::cuda
