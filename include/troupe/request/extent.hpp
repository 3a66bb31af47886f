#pragma once

#include <cstdint>

namespace troupe {

/// One extent of a tensor in a description: a number, or a symbol with one value throughout the
/// request, optionally scaled: `n / 2 + 1`, `2 * n`, `ceil(k, 128)`; or the smaller of two symbols,
/// `min(m, n)`.
class extent {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): shapes are written as lists of both.
  constexpr extent(std::int64_t number) noexcept : plus_(number) {}
  [[nodiscard]] static constexpr extent of_symbol(int symbol) noexcept {
    extent made(0);
    made.symbol_ = static_cast<std::int16_t>(symbol);
    return made;
  }

  friend constexpr extent operator*(std::int64_t n, extent e) noexcept {
    e.times_ *= n;
    return e;
  }
  friend constexpr extent operator/(extent e, std::int64_t n) noexcept {
    e.over_ *= n;
    return e;
  }
  friend constexpr extent operator+(extent e, std::int64_t n) noexcept {
    e.plus_ += n;
    return e;
  }
  /// `e / n`, rounded up.
  friend constexpr extent ceil(extent e, std::int64_t n) noexcept {
    e.over_ *= n;
    e.rounds_up_ = true;
    return e;
  }

  /// The smaller of two plain symbols.
  friend constexpr extent min(extent e, extent other) noexcept {
    e.other_ = other.symbol_;
    return e;
  }

  [[nodiscard]] constexpr bool is_number() const noexcept { return symbol_ < 0; }
  /// Precondition: not a number.
  [[nodiscard]] constexpr int symbol() const noexcept { return symbol_; }
  /// True for the smaller of two symbols, `symbol()` and `other()`.
  [[nodiscard]] constexpr bool is_smaller() const noexcept { return other_ >= 0; }
  /// Precondition: `is_smaller()`.
  [[nodiscard]] constexpr int other() const noexcept { return other_; }
  /// True for an unscaled symbol: a tensor with this extent determines the symbol's value.
  [[nodiscard]] constexpr bool is_plain() const noexcept {
    return symbol_ >= 0 && other_ < 0 && times_ == 1 && over_ == 1 && plus_ == 0;
  }
  /// The value if the symbol is `n` and the other one, if there is one, `m`; a number ignores both.
  [[nodiscard]] constexpr std::int64_t value(std::int64_t n, std::int64_t m) const noexcept {
    if (symbol_ < 0) return plus_;
    if (other_ >= 0) return m < n ? m : n;
    return times_ * (rounds_up_ ? (n + over_ - 1) / over_ : n / over_) + plus_;
  }

  [[nodiscard]] constexpr std::int64_t times() const noexcept { return times_; }
  [[nodiscard]] constexpr std::int64_t over() const noexcept { return over_; }
  [[nodiscard]] constexpr std::int64_t plus() const noexcept { return plus_; }
  [[nodiscard]] constexpr bool rounds_up() const noexcept { return rounds_up_; }
  /// For the description of a group, whose symbols are numbered after `count` others.
  constexpr void renumber(int count) noexcept {
    if (symbol_ >= 0) symbol_ = static_cast<std::int16_t>(symbol_ + count);
    if (other_ >= 0) other_ = static_cast<std::int16_t>(other_ + count);
  }

 private:
  std::int16_t symbol_ = -1;
  std::int16_t other_ = -1;  ///< the second symbol of `min`
  bool rounds_up_ = false;
  std::int64_t times_ = 1;
  std::int64_t over_ = 1;
  std::int64_t plus_ = 0;
};

}  // namespace troupe
