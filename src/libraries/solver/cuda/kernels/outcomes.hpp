#pragma once

#include "backend/cuda/context/lane.hpp"
#include "backend/cuda/context/late_failure.hpp"
#include "libraries/solver/shared/outcomes.hpp"

#include <troupe/base/result.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstdint>
#include <limits>

namespace troupe::cuda {

inline constexpr std::int64_t i32_bytes = size_of(dtype::i32);

/// The error text around the number of a matrix without a result.
struct outcome_words {
  late_words before;
  late_words after;

  outcome_words() = default;
  outcome_words(const solver::outcome_text& text) noexcept  // NOLINT(google-explicit-constructor)
      : before(text.before), after(text.after) {}
};

/// The outcomes of a batch, in device memory.
struct outcomes {
  const std::int32_t* info = nullptr;    ///< one per matrix
  const std::uint32_t* flags = nullptr;  ///< not 0 if a matrix is not finite; may be null
  std::int64_t count = 0;
  outcome_words words{};
  /// Larger numbers are counted from this one and get other words.
  std::int64_t other_from = std::numeric_limits<std::int32_t>::max();
  outcome_words other{};
};

/// Enqueues zeros in a packed tensor, or nothing if it is null. For batches without any work.
[[nodiscard]] result<void> clear(const any_tensor& t, lane& where);

/// Enqueues copying the outcomes to the request's `info` (may be null), and failing the request
/// with the first that is not 0. It must be the last work of the request. `a` shows whether there
/// is a batch.
[[nodiscard]] result<void> report(const outcomes& found, const any_tensor& info,
                                  const any_tensor& a, late_failure failure, lane& where);

/// Enqueues copying pivots, n per matrix and at least one, to `to` or to `narrow`. A pivot outside
/// of 1 … n is replaced by its row's own number, so that it cannot lead out of its matrix. The
/// lowest bad pivot is noted for `report_pivots`.
struct pivot_copies {
  std::int64_t* to = nullptr;  ///< either may be null
  std::int32_t* narrow = nullptr;
  std::uint64_t* first_bad = nullptr;
};
[[nodiscard]] result<void> admit_pivots(const any_tensor& pivots, const pivot_copies& copies,
                                        lane& where);
/// Enqueues failing the request with `invalid_argument` if `admit_pivots` found a bad pivot. This
/// takes precedence over `report`. It must be the last work of the request.
[[nodiscard]] result<void> report_pivots(const any_tensor& pivots, const std::uint64_t* first_bad,
                                         late_failure failure, lane& where);
/// The same for pivots of symmetric factorisations, negative in pairs. If one of a matrix is bad,
/// all of its pivots are replaced. `to` gets them.
[[nodiscard]] result<void> admit_block_pivots(const any_tensor& pivots, std::int64_t* to,
                                              std::uint64_t* first_bad, lane& where);
[[nodiscard]] result<void> report_block_pivots(const any_tensor& pivots,
                                               const std::uint64_t* first_bad, late_failure failure,
                                               lane& where);
/// Enqueues widening `count` pivots.
[[nodiscard]] result<void> widen_pivots(const std::int32_t* from, std::int64_t* to,
                                        std::int64_t count, lane& where);

}  // namespace troupe::cuda
