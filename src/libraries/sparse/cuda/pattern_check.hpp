#pragma once

#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/late_failure.hpp"
#include "libraries/sparse/shared/pattern_faults.hpp"

#include <troupe/base/result.hpp>

namespace troupe::cuda {

/// The value of `first_fault` without a fault: every byte is equal, so that a memset stores it.
inline constexpr int no_fault_byte = 0x7f;
inline constexpr std::int64_t no_fault = 0x7f7f7f7f7f7f7f7f;

/// Enqueues the checks of a pattern. The number of the first check that finds a fault goes to
/// `first_fault`, in device memory.
[[nodiscard]] result<void> enqueue_pattern_check(const sparse_matrix& a,
                                                 sparse::pattern_claim claim,
                                                 unsigned long long* first_fault,
                                                 cudaStream_t stream);
/// Checks the offsets only; the kernel that reads the indices checks those.
[[nodiscard]] result<void> enqueue_offsets_check(const sparse_matrix& a,
                                                 unsigned long long* first_fault,
                                                 cudaStream_t stream);
/// Enqueues the failure for a fault. It must be the last work of an executor.
[[nodiscard]] result<void> enqueue_pattern_report(const sparse_matrix& a,
                                                  sparse::pattern_claim claim,
                                                  const unsigned long long* first_fault,
                                                  late_failure failure, cudaStream_t stream);

/// Checks a pattern before the executor's work, and fails the request afterwards if there is a
/// fault. It must be the last step of its frame.
class checking final : call_frame::step {
 public:
  enum class part : std::uint8_t { all, offsets };

  checking(call_frame& c, const sparse_matrix& a, sparse::pattern_claim claim, late_failure failure,
           part checked = part::all) noexcept
      : step(c),
        a_(a),
        claim_(claim),
        failure_(failure),
        checked_(checked),
        first_fault_(c.array<unsigned long long>(1)) {}
  /// For kernels that check while they work. Call it after `begin`.
  [[nodiscard]] unsigned long long* first_fault() const noexcept { return first_fault_; }

 private:
  result<void> before(lane& where) override {
    return checked_ == part::offsets
               ? enqueue_offsets_check(a_, first_fault_, where.stream())
               : enqueue_pattern_check(a_, claim_, first_fault_, where.stream());
  }
  result<void> after(lane& where) override {
    return enqueue_pattern_report(a_, claim_, first_fault_, failure_, where.stream());
  }

  const sparse_matrix& a_;
  sparse::pattern_claim claim_;
  late_failure failure_;
  part checked_;
  frame_array<unsigned long long> first_fault_;
};

}  // namespace troupe::cuda
