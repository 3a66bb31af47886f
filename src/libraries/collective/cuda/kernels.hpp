#pragma once

#include "backend/cuda/context/failure.hpp"
#include "backend/cuda/context/late_failure.hpp"
#include "libraries/collective/cuda/part.hpp"
#include "libraries/memory/shared/strided_loops.hpp"

#include <troupe/collective/reduction.hpp>
#include <troupe/tensor/dtype.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace troupe::cuda {

/// Copies of one launch, from inputs of any rank into outputs of this one.
struct pulled_pieces {
  struct piece {
    const std::byte* from;
    std::byte* to;
    std::int64_t bytes;
  };
  piece all[most_tensors];
  int count = 0;
};

/// The reductions of one launch: x of all ranks, item by item, and this rank's y, null if it gets
/// none. `counts` are elements.
struct reduced_items {
  const std::byte* x[most_tensors];
  std::byte* y[most_tensors];
  std::int64_t counts[most_tensors];
  int items = 0;
  collective::reduction op{};
  double factor = 1.0;
  /// Instead of it: by rank, a float, or a double where the bit of `wide_factors` is set.
  const std::byte* factors[most_tensors];
  std::uint64_t wide_factors = 0;
  bool has_factors = false;
  bool is_staged = false;
};

/// One step.
[[nodiscard]] result<void> enqueue_pull(const part_launch& of, const pulled_pieces& what,
                                        late_failure failure, cudaStream_t stream);
/// The same in two halves, with anything between them in the stream that pulls. Not for a part that
/// is repeated: that must be pulled only if the words say so.
[[nodiscard]] result<void> enqueue_start(part_launch of, late_failure failure, cudaStream_t stream);
[[nodiscard]] result<void> enqueue_finish(const part_launch& of, late_failure failure,
                                          cudaStream_t stream);
/// One step: a copy between views.
[[nodiscard]] result<void> enqueue_pull(const part_launch& of,
                                        const elementwise::strided_loops& loops,
                                        std::int64_t element_bytes, const std::byte* from,
                                        std::byte* to, late_failure failure, cudaStream_t stream);
/// One step, or if it is staged `staged_steps` of each item.
[[nodiscard]] result<void> enqueue_reduction(const part_launch& of, const reduced_items& what,
                                             dtype type, late_failure failure, cudaStream_t stream);

/// Complex elements are two real ones, because all their operations are.
[[nodiscard]] constexpr dtype real_type_of(dtype type) noexcept {
  return type == dtype::c64 ? dtype::f32 : type == dtype::c128 ? dtype::f64 : type;
}
/// The bytes behind the elements of a slice, for the rank's factor, which is input, too.
inline constexpr std::int64_t factor_bytes = 16;
/// The elements that pass through a slot at once: for each block a multiple of 16.
[[nodiscard]] constexpr std::int64_t elements_of_step(const part_launch& of,
                                                      std::int64_t element_bytes,
                                                      bool has_factors) noexcept {
  const std::int64_t usable = of.slice_bytes - (has_factors ? factor_bytes : 0);
  return usable / element_bytes / 16 * 16 * wire::blocks_of_part;
}
[[nodiscard]] constexpr std::uint64_t staged_steps(const part_launch& of, std::int64_t count,
                                                   std::int64_t element_bytes,
                                                   bool has_factors) noexcept {
  const std::int64_t longest = elements_of_step(of, element_bytes, has_factors);
  return static_cast<std::uint64_t>((count + longest - 1) / longest);
}

/// Load every kernel into the current context: loading one behind a part that waits for its peers
/// would wait for it.
[[nodiscard]] result<void> load_pull_kernels();
[[nodiscard]] result<void> load_reduction_kernels();

}  // namespace troupe::cuda
