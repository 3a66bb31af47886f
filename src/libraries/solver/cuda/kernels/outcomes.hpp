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

/// What an error says around the number of a matrix that has no answer.
struct outcome_words {
  late_words before;
  late_words after;

  outcome_words() = default;
  outcome_words(const solver::outcome_text& text) noexcept  // NOLINT(google-explicit-constructor)
      : before(text.before), after(text.after) {}
};

/// What routines have said of a batch, in device memory.
struct outcomes {
  const std::int32_t* info = nullptr;    ///< one for each matrix
  const std::uint32_t* flags = nullptr;  ///< not 0 where a matrix is not finite; may be null
  std::int64_t count = 0;
  outcome_words words{};
  /// Numbers beyond this one count from it, with other words.
  std::int64_t other_from = std::numeric_limits<std::int32_t>::max();
  outcome_words other{};
};

/// Enqueues zeros in a packed tensor; nothing where it is null. Of batches in which there is
/// nothing to compute.
[[nodiscard]] result<void> clear(const any_tensor& t, lane& where);

/// Enqueues writing them to `info`, the request's own (may be null), and making the request fail
/// where one is not 0: with the first. The last that the request enqueues. `a` tells whether there
/// is a batch.
[[nodiscard]] result<void> report(const outcomes& found, const any_tensor& info,
                                  const any_tensor& a, late_failure failure, lane& where);

/// Enqueues copying pivots, of which there are some, n for each matrix, to `to`, or to `narrow`;
/// each that is not within 1 … n is replaced by its own row's number, so that none is followed out
/// of its matrix. The lowest bad one is noted for `report_pivots`.
struct pivot_copies {
  std::int64_t* to = nullptr;  ///< either may be null
  std::int32_t* narrow = nullptr;
  std::uint64_t* first_bad = nullptr;
};
[[nodiscard]] result<void> admit_pivots(const any_tensor& pivots, const pivot_copies& copies,
                                        lane& where);
/// Enqueues making the request fail with `invalid_argument` where `admit_pivots` found a bad one,
/// instead of all else that `report` would say. The last that the request enqueues.
[[nodiscard]] result<void> report_pivots(const any_tensor& pivots, const std::uint64_t* first_bad,
                                         late_failure failure, lane& where);
/// Enqueues widening `count` pivots.
[[nodiscard]] result<void> widen_pivots(const std::int32_t* from, std::int64_t* to,
                                        std::int64_t count, lane& where);

}  // namespace troupe::cuda
