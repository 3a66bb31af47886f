#pragma once

#include "backend/cuda/context/lane.hpp"
#include "libraries/fft/shared/functions.hpp"

namespace troupe::cuda {

/// Enqueues a transform that is not empty.
using transform_executor = result<void> (*)(const fft::transform&, const fft::request_fields&,
                                            lane&);

/// Enqueues a transform with functions: with callbacks of cuFFT once a plan is ready and has proved
/// faster on this lane, otherwise with `in_passes`. Another thread makes the plan, from the second
/// request on.
[[nodiscard]] result<void> run_with_functions(const fft::transform& t, const fft::request_fields& r,
                                              lane& where, transform_executor in_passes);

}  // namespace troupe::cuda
