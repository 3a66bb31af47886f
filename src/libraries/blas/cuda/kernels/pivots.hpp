#pragma once

#include "backend/cuda/context/lane.hpp"
#include "backend/cuda/context/late_failure.hpp"

#include <troupe/base/result.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstdint>

namespace troupe::cuda {

/// Enqueues copying the pivots [batch, n], of which there are some, to `to`, each that is not
/// within 1 … n replaced by its own row's number: so that none is followed out of its matrix.
/// `first_bad`, in device memory, is where the first of those is noted for `report_pivots`.
[[nodiscard]] result<void> admit_pivots(lane& where, const any_tensor& pivots, std::int32_t* to,
                                        std::uint64_t* first_bad);

/// Enqueues making the request fail with `invalid_argument` where `admit_pivots` found a bad one.
/// The last that the request enqueues.
[[nodiscard]] result<void> report_pivots(lane& where, const any_tensor& pivots,
                                         const std::uint64_t* first_bad, late_failure failure);

}  // namespace troupe::cuda
