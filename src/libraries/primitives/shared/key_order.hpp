#pragma once

#include <troupe/tensor/dtype.hpp>

#include <cstdint>
#include <limits>
#include <type_traits>

/// Elements as unsigned keys of the same width, in the order that `sorting.hpp` states. All of it
/// is constexpr, so that kernels run the very same code, and depends on the element type through
/// numbers alone, so that code is made once for each width.
namespace troupe::primitives {

/// The unsigned integer of so many bytes.
template <int Bytes>
using unsigned_of_bytes = std::conditional_t<
    Bytes == 1, std::uint8_t,
    std::conditional_t<Bytes == 2, std::uint16_t,
                       std::conditional_t<Bytes == 4, std::uint32_t, std::uint64_t>>>;

/// Calls `f` with the unsigned integer of the type's width, up to 8 bytes.
template <class F>
auto with_key(dtype type, F f) {
  switch (size_of(type)) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    default:
      return f(std::uint64_t{});
  }
}

/// How the bits of an element become a key and back. The element may be narrower than `Key`.
template <class Key>
class key_order {
 public:
  static constexpr Key highest = std::numeric_limits<Key>::max();

  /// For a type that has an order.
  constexpr explicit key_order(dtype type) noexcept
      : shift_((static_cast<int>(sizeof(Key)) - static_cast<int>(size_of(type))) * 8) {
    if (type == dtype::boolean) {
      is_boolean_ = true;
      shift_ = 0;
      last_number_ = 1;
    } else if (is_float(type)) {
      // A negative number's magnitude bits are flipped; the keys of negative NaNs come first then,
      // and turning all keys by their number puts them last. There they are mirrored, so that they
      // ascend by their bits.
      flips_if_positive_ = sign;
      flips_if_negative_ = highest;
      negative_nans_ = static_cast<Key>(magnitude - (infinity_of(type) << shift_));
      last_number_ = static_cast<Key>(highest - 2 * negative_nans_);
    } else if (type == dtype::i8 || type == dtype::i16 || type == dtype::i32 ||
               type == dtype::i64) {
      flips_if_positive_ = sign;
      flips_if_negative_ = sign;
    }
  }

  [[nodiscard]] constexpr Key key_of(Key bits) const noexcept {
    if (is_boolean_) return bits != 0 ? 1 : 0;
    const auto aligned = static_cast<Key>(bits << shift_);
    const Key flips = (aligned & sign) != 0 ? flips_if_negative_ : flips_if_positive_;
    return mirrored(static_cast<Key>((aligned ^ flips) - negative_nans_));
  }
  [[nodiscard]] constexpr Key bits_of(Key key) const noexcept {
    const auto turned = static_cast<Key>(mirrored(key) + negative_nans_);
    const Key flips = (turned & sign) != 0 ? flips_if_positive_ : flips_if_negative_;
    return static_cast<Key>((turned ^ flips) >> shift_);
  }

  /// True where keys are the elements' own bits.
  [[nodiscard]] constexpr bool keeps_bits() const noexcept {
    return flips_if_positive_ == 0 && shift_ == 0 && !is_boolean_;
  }

  /// The key of the largest number; those above it are NaNs.
  [[nodiscard]] constexpr Key last_number() const noexcept { return last_number_; }

 private:
  static constexpr Key sign = static_cast<Key>(Key{1} << (sizeof(Key) * 8 - 1));
  static constexpr Key magnitude = static_cast<Key>(sign - 1);

  [[nodiscard]] constexpr Key mirrored(Key key) const noexcept {
    const auto last_before = static_cast<Key>(highest - negative_nans_);
    return key > last_before ? static_cast<Key>(last_before + 1 + (highest - key)) : key;
  }
  /// The bits of the largest number, which is infinity but of e4m3.
  [[nodiscard]] static constexpr Key infinity_of(dtype type) noexcept {
    switch (type) {
      case dtype::f64:
        return static_cast<Key>(0x7ff0000000000000);
      case dtype::f32:
        return static_cast<Key>(0x7f800000);
      case dtype::f16:
        return static_cast<Key>(0x7c00);
      case dtype::bf16:
        return static_cast<Key>(0x7f80);
      case dtype::e4m3:
        return static_cast<Key>(0x7e);
      default:
        return static_cast<Key>(0x7c);
    }
  }

  int shift_;  // puts the sign of a narrower type where that of `Key` is
  Key flips_if_positive_ = 0;
  Key flips_if_negative_ = 0;
  Key negative_nans_ = 0;
  Key last_number_ = highest;
  bool is_boolean_ = false;
};

/// Keys for sorting: in descending order they are complemented, so that sorting them upwards keeps
/// equal ones in their order.
template <class Key>
class sorting_order {
 public:
  constexpr sorting_order(dtype type, bool descending) noexcept
      : order_(type), complement_(descending ? key_order<Key>::highest : Key{0}) {}
  [[nodiscard]] constexpr Key key_of(Key bits) const noexcept {
    return order_.key_of(bits) ^ complement_;
  }
  [[nodiscard]] constexpr Key bits_of(Key key) const noexcept {
    return order_.bits_of(key ^ complement_);
  }
  /// True where keys are the elements' own bits.
  [[nodiscard]] constexpr bool keeps_bits() const noexcept {
    return order_.keeps_bits() && complement_ == 0;
  }

 private:
  key_order<Key> order_;
  Key complement_;
};

/// Ranks for the search of an extreme element: the extreme has the highest rank. All NaNs share the
/// highest of all; 0 is the rank of what no element can be beyond.
template <class Key>
class extreme_order {
 public:
  constexpr extreme_order(dtype type, bool smallest) noexcept : order_(type), smallest_(smallest) {}
  [[nodiscard]] constexpr Key rank_of(Key bits) const noexcept {
    const Key key = order_.key_of(bits);
    if (key > order_.last_number()) return key_order<Key>::highest;
    return smallest_ ? static_cast<Key>(order_.last_number() - key) : key;
  }
  [[nodiscard]] constexpr Key bits_of(Key rank) const noexcept {
    if (rank > order_.last_number()) return order_.bits_of(quiet_nan());
    return order_.bits_of(smallest_ ? static_cast<Key>(order_.last_number() - rank) : rank);
  }
  [[nodiscard]] constexpr bool smallest() const noexcept { return smallest_; }

 private:
  /// The key of the NaN without a sign whose uppermost mantissa bit is its only one; of e4m3, the
  /// only one without a sign.
  [[nodiscard]] constexpr Key quiet_nan() const noexcept {
    const auto nans = static_cast<Key>((key_order<Key>::highest - order_.last_number()) / 2);
    return static_cast<Key>(order_.last_number() + nans / 2 + 1);
  }

  key_order<Key> order_;
  bool smallest_;
};

}  // namespace troupe::primitives
