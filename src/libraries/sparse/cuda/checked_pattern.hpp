#pragma once

#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/late_failure.hpp"

#include <troupe/sparse/matrix.hpp>

namespace troupe::cuda {

/// A safe copy of a block matrix's pattern in the workspace, for cuSPARSE, which follows any index.
/// Indices out of range are replaced, and the request fails. Blocks are much larger than their
/// indices, so the copy costs little. csr, csc and coo are not copied.
class checked_pattern final : call_frame::step {
 public:
  checked_pattern(call_frame& c, const sparse_matrix& of, late_failure failure);

  /// The matrix with the copied pattern. Call it after the frame's `begin`.
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
