#pragma once

#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/late_failure.hpp"

#include <troupe/sparse/matrix.hpp>

namespace troupe::cuda {

/// The pattern of blocks that cuSPARSE gets, which follows wherever a pattern points: a copy in the
/// workspace, in which nothing points outside. Where something did, the request fails. Blocks are
/// so much larger than their indices that this costs little; csr, csc and coo are taken as they
/// are.
class checked_pattern final : call_frame::step {
 public:
  checked_pattern(call_frame& c, const sparse_matrix& of, late_failure failure);

  /// The matrix with that pattern. After the frame's `begin`.
  [[nodiscard]] sparse_matrix operator*() const;

 private:
  result<void> before(lane& where) override;
  result<void> after(lane& where) override;
  [[nodiscard]] bool copies() const noexcept { return of_.format > sparse_format::coo; }

  const sparse_matrix& of_;
  late_failure failure_;
  frame_array<unsigned long long> first_fault_;
  frame_array<std::byte> offsets_;
  frame_array<std::byte> indices_;
};

}  // namespace troupe::cuda
