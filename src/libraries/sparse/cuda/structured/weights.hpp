#pragma once

#include "backend/cuda/context/lane.hpp"
#include "backend/cuda/context/late_failure.hpp"
#include "libraries/sparse/requests/structured_stamp.hpp"

#include <cstdint>

/// Kernels on 2:4 weights.
namespace troupe::cuda {

/// Enqueues pruning x to y.
[[nodiscard]] result<void> prune_weights(const any_tensor& x, const any_tensor& y, lane& where);

/// Enqueues a search for the first group that is not 2:4; it goes to `first_bad`, in device memory.
[[nodiscard]] result<void> find_bad_group(const any_tensor& x, std::uint64_t* first_bad,
                                          lane& where);
/// Enqueues failing the request if such a group was found, and otherwise writing `stamp` to
/// `compressed`, which may be null. It must be the last work of the request.
[[nodiscard]] result<void> conclude_weights(const any_tensor& x, const std::uint64_t* first_bad,
                                            const sparse::structured_stamp& stamp,
                                            std::byte* compressed, late_failure failure,
                                            lane& where);
/// Enqueues failing the request if the bytes at `compressed` do not begin with the stamp. With
/// `of_any_maker`, the stamp's maker does not matter. It must be the last work of the request.
[[nodiscard]] result<void> check_stamp(const std::byte* compressed,
                                       const sparse::structured_stamp& stamp, bool of_any_maker,
                                       late_failure failure, lane& where);

}  // namespace troupe::cuda
