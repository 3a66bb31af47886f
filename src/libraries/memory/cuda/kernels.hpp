#pragma once

#include "backend/cuda/context/failure.hpp"
#include "libraries/memory/cuda/strided.hpp"
#include "libraries/memory/cuda/units.hpp"

#include <troupe/tensor/dtype.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>

/// Copies, fills and conversions that the driver does not offer. Either side may be host memory
/// that the device accesses at the same address.
namespace troupe::cuda {

/// Copies `map.count` units.
[[nodiscard]] result<void> enqueue_copy(const strided_map& map, unit moved, const std::byte* from,
                                        std::byte* to, cudaStream_t stream);

/// Stores `value`, of `stored.bytes` bytes, `map.count` times. The map's `from` is not used.
[[nodiscard]] result<void> enqueue_fill(const strided_map& map, unit stored, const void* value,
                                        std::byte* to, cudaStream_t stream);

/// Converts `map.count` elements.
[[nodiscard]] result<void> enqueue_convert(const strided_map& map, dtype from_type,
                                           const std::byte* from, dtype to_type, std::byte* to,
                                           cudaStream_t stream);

/// The elements that `enqueue_packed_convert` moves at once; 1: it does not support these types.
[[nodiscard]] constexpr int packed_elements(dtype from, dtype to) noexcept {
  const std::int64_t wider = size_of(from) > size_of(to) ? size_of(from) : size_of(to);
  return wider <= 4 ? 4 : wider == 8 ? 2 : 1;
}
/// Converts packed elements. Their number must be a multiple of `packed_elements`, and they must be
/// aligned to as many.
[[nodiscard]] result<void> enqueue_packed_convert(std::int64_t count, dtype from_type,
                                                  const std::byte* from, dtype to_type,
                                                  std::byte* to, cudaStream_t stream);

/// Load every kernel into the current context. A kernel that is loaded at its first use may have to
/// wait for running kernels.
[[nodiscard]] result<void> load_copy_kernels();
[[nodiscard]] result<void> load_fill_kernels();
[[nodiscard]] result<void> load_convert_kernels();

}  // namespace troupe::cuda
