#pragma once

#include "backend/cuda/context/lane.hpp"
#include "backend/cuda/context/late_failure.hpp"
#include "backend/cuda/context/pieces.hpp"

#include <troupe/sparse/matrix.hpp>

namespace troupe::cuda {

/// The pattern of blocks that cuSPARSE gets, which follows wherever a pattern points: a copy in the
/// workspace, in which nothing points outside. Where something did, the request fails. Blocks are
/// so much larger than their indices that this costs little; csr, csc and coo are taken as they
/// are.
class checked_pattern {
 public:
  checked_pattern(const sparse_matrix& of, pieces& parts);

  /// The matrix with that pattern. `room` is the workspace of all parts.
  [[nodiscard]] sparse_matrix in(std::byte* room) const;
  /// Enqueues checks and copies.
  [[nodiscard]] result<void> enqueue(std::byte* room, cudaStream_t stream) const;
  /// Enqueues the failure; the last that an executor enqueues.
  [[nodiscard]] result<void> report(std::byte* room, late_failure failure,
                                    cudaStream_t stream) const;

 private:
  [[nodiscard]] bool copies() const noexcept { return of_.format > sparse_format::coo; }
  [[nodiscard]] unsigned long long* fault_in(std::byte* room) const noexcept;

  const sparse_matrix& of_;
  std::size_t fault_at_ = 0;
  std::size_t offsets_at_ = 0;
  std::size_t indices_at_ = 0;
};

}  // namespace troupe::cuda
