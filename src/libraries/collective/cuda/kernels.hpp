#pragma once

#include "backend/cuda/context/failure.hpp"
#include "backend/cuda/context/late_failure.hpp"
#include "libraries/collective/cuda/part.hpp"
#include "libraries/memory/shared/strided_loops.hpp"
#include "wire/world_algorithms.hpp"

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

/// The same through staging memory: each rank stages its input of each item, of which its peers
/// take what they need.
struct staged_pieces {
  struct piece {
    std::byte* to;
    std::int64_t first;  ///< byte of the source's input
    std::int64_t bytes;
    int item;
    int source;  ///< rank
  };
  piece all[most_tensors];
  int count = 0;
  struct input {
    const std::byte* from;
    std::int64_t bytes;    ///< this rank's; 0 if it has none
    std::int64_t longest;  ///< the longest of all ranks'
  };
  input inputs[most_tensors];
  int items = 0;
};

/// A copy of one view to another through staging memory.
struct staged_view {
  struct view {
    std::byte* at = nullptr;  ///< null if this rank has none
    std::int64_t extents[max_rank];
    std::int64_t strides[max_rank];  ///< in bytes
    int rank = 0;

    view() = default;
    explicit view(const any_tensor& t) : at(t.address()), rank(t.rank()) {
      for (int d = 0; d < rank; ++d) {
        extents[d] = t.extent(d);
        strides[d] = t.stride(d) * size_of(t.type());
      }
    }
  };
  view from;
  view to;
  int source = 0;
  std::int64_t count = 0;
  std::int64_t element_bytes = 1;
};

/// The reductions of one launch: x of all ranks, item by item, and this rank's y, null if it gets
/// none. `counts` are elements of the result, which has the elements of x from `firsts` on.
struct reduced_items {
  const std::byte* x[most_tensors];
  std::byte* y[most_tensors];
  const std::byte* outputs[most_tensors];  ///< y of all ranks, if it is two_shot
  std::int64_t counts[most_tensors];
  std::int64_t firsts[most_tensors];
  std::int64_t x_counts[most_tensors];
  int items = 0;
  collective::reduction op{};
  double factor = 1.0;
  /// Instead of it: by rank, a float, or a double where the bit of `wide_factors` is set.
  const std::byte* factors[most_tensors];
  std::uint64_t wide_factors = 0;
  bool has_factors = false;
  wire::algorithm how = wire::algorithm::direct;
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
/// `staged_steps` of each item.
[[nodiscard]] result<void> enqueue_staged(const part_launch& of, const staged_pieces& what,
                                          late_failure failure, cudaStream_t stream);
[[nodiscard]] result<void> enqueue_staged(const part_launch& of, const staged_view& what,
                                          late_failure failure, cudaStream_t stream);
/// One step; two if it is two_shot; if it is staged `staged_steps` of each item's x; if it is
/// sliced one, and one for each `elements_of_piece`.
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
[[nodiscard]] constexpr std::uint64_t steps_of(std::int64_t count, std::int64_t longest) noexcept {
  return static_cast<std::uint64_t>((count + longest - 1) / longest);
}
[[nodiscard]] constexpr std::uint64_t staged_steps(const part_launch& of, std::int64_t count,
                                                   std::int64_t element_bytes,
                                                   bool has_factors) noexcept {
  return steps_of(count, elements_of_step(of, element_bytes, has_factors));
}
/// A slot has one slice of a piece, of which there are as many as ranks.
[[nodiscard]] constexpr std::int64_t elements_of_piece(const part_launch& of,
                                                       std::int64_t element_bytes) noexcept {
  return of.ranks * elements_of_step(of, element_bytes, false);
}

/// Load every kernel into the current context: loading one behind a part that waits for its peers
/// would wait for it.
[[nodiscard]] result<void> load_pull_kernels();
[[nodiscard]] result<void> load_reduction_kernels();

}  // namespace troupe::cuda
