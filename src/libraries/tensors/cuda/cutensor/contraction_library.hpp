#pragma once

#include "libraries/tensors/shared/program.hpp"

#include <troupe/blas/modes.hpp>

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace troupe::cuda {

/// A step of a program that a library of contractions does.
struct named_contraction {
  /// a, b and d: the library looks at types, extents, strides, and how they are aligned.
  std::array<any_tensor, 3> tensors;
  /// Of the dimensions of each.
  const std::array<std::vector<std::int32_t>, 3>& names;
  blas::math_mode math;
};

/// A plan of cuTENSOR's: d = alpha · Σ a · b + beta · d.
class contraction_plan {
 public:
  contraction_plan() = default;
  contraction_plan(const contraction_plan&) = delete;
  contraction_plan& operator=(const contraction_plan&) = delete;
  virtual ~contraction_plan() = default;

  [[nodiscard]] virtual std::size_t workspace_bytes() const noexcept = 0;
  /// Enqueues it, for tensors that differ from those that it was made for in where they are, not in
  /// how they are aligned. `workspace` is aligned to 256 bytes.
  [[nodiscard]] virtual result<void> run(const std::array<std::byte*, 3>& tensors,
                                         const scalar& alpha, const scalar& beta,
                                         std::span<std::byte> workspace, cudaStream_t stream) = 0;
};

/// cuTENSOR, as a lane uses it. Plans end before it does.
class contraction_library {
 public:
  contraction_library() = default;
  contraction_library(const contraction_library&) = delete;
  contraction_library& operator=(const contraction_library&) = delete;
  virtual ~contraction_library() = default;

  /// Null for what it does not take.
  [[nodiscard]] virtual std::unique_ptr<contraction_plan> plan(const named_contraction& c) = 0;
};

/// Up to what a tensor's alignment, which is a power of two, counts for a plan.
inline constexpr std::uintptr_t most_alignment = 128;
[[nodiscard]] inline std::uint32_t alignment_of(const std::byte* address) noexcept {
  const auto number = reinterpret_cast<std::uintptr_t>(address) | most_alignment;
  return static_cast<std::uint32_t>(number & -number);
}

/// Null where there is no cuTENSOR 2 that can be used, and where Troupe is built without it.
[[nodiscard]] std::unique_ptr<contraction_library> open_contraction_library();

}  // namespace troupe::cuda
