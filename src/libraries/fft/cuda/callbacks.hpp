#pragma once

#include "backend/cuda/context/lane.hpp"
#include "libraries/fft/shared/functions.hpp"

namespace troupe::cuda {

/// Enqueues a transform that is not empty.
using transform_executor = result<void> (*)(const fft::transform&, const fft::request_fields&,
                                            lane&);

/// Enqueues a transform with functions: as callbacks of cuFFT, once a plan with them is there and
/// has been found to be faster on this lane; in passes, as `in_passes` does, until then and where
/// it is not. The plan is made by another thread, from the second request on.
[[nodiscard]] result<void> run_with_functions(const fft::transform& t, const fft::request_fields& r,
                                              lane& where, transform_executor in_passes);

}  // namespace troupe::cuda
