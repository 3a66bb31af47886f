#pragma once

#include <cstdint>

namespace troupe::dnn {

/// Division by a number that does not change, from 1 to 2³¹ − 1: others leave it a division by 1.
/// Source: Granlund, Montgomery, "Division by Invariant Integers using Multiplication", 1994.
class quick_divisor {
 public:
  constexpr quick_divisor() noexcept = default;
  explicit constexpr quick_divisor(std::int64_t number) noexcept {
    if (number <= 1 || number >= std::int64_t{1} << 31) return;
    while (std::int64_t{1} << shift_ < number)
      ++shift_;
    const std::uint64_t rest = (std::uint64_t{1} << shift_) - static_cast<std::uint64_t>(number);
    factor_ = static_cast<std::uint32_t>((rest << 32) / static_cast<std::uint64_t>(number) + 1);
  }
  /// ⌊n / number⌋. Precondition: n < 2³¹.
  [[nodiscard]] constexpr std::uint32_t divide(std::uint32_t n) const noexcept {
    return (static_cast<std::uint32_t>((std::uint64_t{n} * factor_) >> 32) + n) >> shift_;
  }

 private:
  std::uint32_t factor_ = 1;
  std::uint32_t shift_ = 0;
};

}  // namespace troupe::dnn
