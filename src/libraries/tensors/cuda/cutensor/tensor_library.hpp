#pragma once

#include "libraries/tensors/shared/program.hpp"

#include <troupe/blas/modes.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace troupe::cuda {

/// A step of a program that cuTENSOR computes: d = alpha · Σ a · b + beta · d, or the same without
/// b.
struct named_sum {
  /// a, b and d, or a and d. Only types, extents, strides and alignments matter.
  std::vector<any_tensor> tensors;
  /// The names of each tensor's dimensions.
  const std::vector<std::vector<std::int32_t>>& names;
  blas::math_mode math;
};

/// A plan of cuTENSOR.
class tensor_plan {
 public:
  tensor_plan() = default;
  tensor_plan(const tensor_plan&) = delete;
  tensor_plan& operator=(const tensor_plan&) = delete;
  virtual ~tensor_plan() = default;

  [[nodiscard]] virtual std::size_t workspace_bytes() const noexcept = 0;
  /// Enqueues it for tensors that differ from those of the plan in their addresses only, not in
  /// their alignment. `workspace` is aligned to 256 bytes.
  [[nodiscard]] virtual result<void> run(std::span<const any_tensor> inputs, const any_tensor& d,
                                         const scalar& alpha, const scalar& beta,
                                         std::span<std::byte> workspace, cudaStream_t stream) = 0;
};

/// cuTENSOR for one lane. It must outlive its plans.
class tensor_library {
 public:
  tensor_library() = default;
  tensor_library(const tensor_library&) = delete;
  tensor_library& operator=(const tensor_library&) = delete;
  virtual ~tensor_library() = default;

  /// Null if the library does not support the sum.
  [[nodiscard]] virtual std::unique_ptr<tensor_plan> plan(const named_sum& c) = 0;
};

/// Plans do not depend on alignment beyond this power of two.
inline constexpr std::uintptr_t most_alignment = 128;
[[nodiscard]] inline std::uint32_t alignment_of(const std::byte* address) noexcept {
  const auto number = reinterpret_cast<std::uintptr_t>(address) | most_alignment;
  return static_cast<std::uint32_t>(number & -number);
}

/// Null if no usable cuTENSOR 2 is installed, or if Troupe is built without it.
[[nodiscard]] std::unique_ptr<tensor_library> open_tensor_library();

}  // namespace troupe::cuda
