#pragma once

#include "backend/cuda/context/lane.hpp"

#include <troupe/base/result.hpp>
#include <troupe/rng/generator.hpp>

#include <curand.h>

#include <cstdint>
#include <string_view>

/// The streams that cuRAND generates: xorwow, mrg32k3a, mtgp32 and mt19937.
namespace troupe::cuda {

/// Enqueues `count` words of a stream, from word number `first` on, to `to`.
///
/// The lane keeps its most recently used generators, each with the last piece of its stream. So
/// many small requests on one stream need one call of cuRAND. mtgp32 and mt19937 cannot jump: to
/// reach a later position, they generate everything before it. \errors `out_of_memory`;
/// `library_error`; `device_fault` if the context is lost
[[nodiscard]] result<void> enqueue_words(const rng::position& from, std::uint64_t first,
                                         std::int64_t count, std::uint32_t* to, lane& where);

/// Converts a status to success or to an error with its name and the call. ALLOCATION_FAILED is
/// `out_of_memory`; ARCH_MISMATCH and DOUBLE_PRECISION_REQUIRED are `unsupported`; if the stream
/// reports that the context is lost, the error is `device_fault`; any other status is
/// `library_error`.
[[nodiscard]] result<void> check(curandStatus_t status, std::string_view call, const lane& where);

}  // namespace troupe::cuda
