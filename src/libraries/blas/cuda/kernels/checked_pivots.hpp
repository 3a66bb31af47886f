#pragma once

#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/late_failure.hpp"

#include <troupe/tensor/tensor.hpp>

#include <cstdint>

namespace troupe::cuda {

/// Pivots [batch, n], at least one, that cuBLAS follows without a check. It gets a copy in which
/// each that is not within 1 … n is replaced by its own row's number; the request then fails with
/// `invalid_argument`. The last step of its frame, because a report is enqueued last.
class checked_pivots final : call_frame::step {
 public:
  checked_pivots(call_frame& c, const any_tensor& given, late_failure failure) noexcept
      : step(c),
        given_(given),
        failure_(failure),
        admitted_(c.array<std::int32_t>(given.count())),
        first_bad_(c.array<unsigned long long>(1)) {}

  /// The pivots of a matrix. After the frame's `begin`.
  [[nodiscard]] const std::int32_t* of(std::int64_t matrix) const noexcept {
    return admitted_ + matrix * given_.extent(1);
  }

 private:
  result<void> before(lane& where) override;
  result<void> after(lane& where) override;

  const any_tensor& given_;
  late_failure failure_;
  frame_array<std::int32_t> admitted_;
  frame_array<unsigned long long> first_bad_;  ///< its place among all pivots; `atomicMin` takes it
};

}  // namespace troupe::cuda
