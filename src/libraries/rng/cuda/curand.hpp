#pragma once

#include "backend/cuda/context/lane.hpp"

#include <troupe/base/result.hpp>
#include <troupe/rng/generator.hpp>

#include <curand.h>

#include <cstdint>
#include <string_view>

/// The streams that cuRAND makes: xorwow, mrg32k3a, mtgp32 and mt19937.
namespace troupe::cuda {

/// Enqueues `count` words of a stream, from word number `first` on, to `to`.
///
/// The lane keeps the generators that it used last, each with the piece of the stream that it made
/// last; so a stream that goes on calls cuRAND once for many small requests. mtgp32 and mt19937
/// cannot jump: a place further on is reached through all that comes before it.
/// \errors `out_of_memory`; `library_error`; `device_fault` when the context is lost
[[nodiscard]] result<void> enqueue_words(const rng::position& from, std::uint64_t first,
                                         std::int64_t count, std::uint32_t* to, lane& where);

/// The error for a status, with its name and the call; success for success. ALLOCATION_FAILED is
/// `out_of_memory`; ARCH_MISMATCH and DOUBLE_PRECISION_REQUIRED are `unsupported`; where the stream
/// says that the context is lost, `device_fault`; what is left, `library_error`.
[[nodiscard]] result<void> check(curandStatus_t status, std::string_view call, const lane& where);

}  // namespace troupe::cuda
