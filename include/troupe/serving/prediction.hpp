#pragma once

#include <troupe/base/export.hpp>

#include <chrono>
#include <cstdint>

namespace troupe::serving {

/// How long a batch takes: a + b · cost, fitted to past batches by least squares, of which the last
/// 100 count most. One that takes far longer counts little, unless more follow.
class TROUPE_EXPORT prediction {
 public:
  void add(std::int64_t cost, std::chrono::nanoseconds time) noexcept;

  /// False until a batch has been added.
  [[nodiscard]] bool known() const noexcept { return count_ > 0; }
  /// 0 if nothing is known.
  [[nodiscard]] std::chrono::nanoseconds of(std::int64_t cost) const noexcept;
  /// A time below which 99 of 100 batches of this cost are expected to stay.
  [[nodiscard]] std::chrono::nanoseconds upper(std::int64_t cost) const noexcept;
  /// a, which a batch costs however small it is, and b, in seconds.
  [[nodiscard]] double of_batch() const noexcept { return a_; }
  [[nodiscard]] double of_cost() const noexcept { return b_; }
  /// The mean of |predicted − measured| / measured over the last batches.
  [[nodiscard]] double error_ratio() const noexcept { return error_ratio_; }

 private:
  void fit() noexcept;

  // Sums over the batches, each weighted by 0.99 to the power of its age: this is recursive least
  // squares with that forgetting, without its matrix.
  double count_ = 0, cost_ = 0, cost2_ = 0, time_ = 0, product_ = 0;
  double a_ = 0, b_ = 0;
  double error_ratio_ = 0;
  int far_off_ = 0;  ///< batches in a row; negative: they were shorter
};

}  // namespace troupe::serving
