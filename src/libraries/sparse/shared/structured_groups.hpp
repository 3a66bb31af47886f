#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

/// Groups of four weights, as both backends look at them: by their bits.
namespace troupe::sparse {

/// Orders elements by their magnitude: floats by the bits without the sign, in which NaN is above
/// infinity; i8 by the absolute value.
template <class Bits>
[[nodiscard]] constexpr std::uint32_t magnitude_of(Bits bits, bool integer) noexcept {
  static_assert(std::is_unsigned_v<Bits>);
  if (!integer) return bits & static_cast<Bits>(std::numeric_limits<Bits>::max() >> 1);
  const auto value = static_cast<std::int8_t>(bits);
  return static_cast<std::uint32_t>(value < 0 ? -value : value);
}

template <class Bits>
struct weight_group {
  static constexpr int size = 4;
  Bits elements[size];

  [[nodiscard]] constexpr int filled(bool integer) const noexcept {
    int count = 0;
    for (const Bits one : elements)
      count += magnitude_of(one, integer) != 0 ? 1 : 0;
    return count;
  }
  /// Sets all but the two largest to zero; of equal ones the earlier are kept.
  constexpr void prune(bool integer) noexcept {
    std::uint32_t magnitudes[size] = {};
    for (int i = 0; i < size; ++i)
      magnitudes[i] = magnitude_of(elements[i], integer);
    for (int i = 0; i < size; ++i) {
      int larger = 0;
      for (int j = 0; j < size; ++j) {
        const bool before =
            magnitudes[j] > magnitudes[i] || (j < i && magnitudes[j] == magnitudes[i]);
        larger += before ? 1 : 0;
      }
      if (larger >= 2) elements[i] = 0;
    }
  }
};

// Error messages.
inline constexpr std::string_view not_of_weights =
    "compressed is not what structured_compress has made of b";
inline constexpr std::string_view of_another_version =
    "compressed is of another cuSPARSELt: compress the weights again";

}  // namespace troupe::sparse
