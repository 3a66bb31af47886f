#pragma once

#include "conformance/scene.hpp"

#include <array>
#include <cstring>
#include <string>
#include <vector>

/// Vectors of any bits, and what is known of their elements without the code under test.
namespace troupe::conformance {

inline constexpr dtype ordered_types[] = {dtype::f64,  dtype::f32,  dtype::f16,    dtype::bf16,
                                          dtype::e4m3, dtype::e5m2, dtype::i8,     dtype::u8,
                                          dtype::i16,  dtype::u16,  dtype::i32,    dtype::u32,
                                          dtype::i64,  dtype::u64,  dtype::boolean};
inline constexpr dtype every_type[] = {
    dtype::f64, dtype::f32,  dtype::f16, dtype::bf16, dtype::e4m3,   dtype::e5m2,
    dtype::c64, dtype::c128, dtype::i8,  dtype::u8,   dtype::i16,    dtype::u16,
    dtype::i32, dtype::u32,  dtype::i64, dtype::u64,  dtype::boolean};

/// Nothing, one, few, and around what a warp, a block and a tile of a kernel do; odd and long.
inline constexpr std::int64_t lengths[] = {0, 1, 2, 31, 1023, 1025, 20'011};
inline constexpr std::int64_t long_length = 100'003;

enum class content : std::uint8_t {
  any,         ///< any bits
  special,     ///< NaNs of both signs, ±0, ±infinity, extreme numbers
  few,         ///< three different elements
  equal,       ///< one
  ascending,   ///< any bits, sorted
  descending,  ///< the other way
};
inline constexpr content contents[] = {content::any,   content::special,   content::few,
                                       content::equal, content::ascending, content::descending};

/// One element. The bits of types wider than 8 bytes are in both words.
struct element_bits {
  std::array<std::uint64_t, 2> words{};

  friend bool operator==(const element_bits&, const element_bits&) = default;
};

/// The value of an element of a real type. Exact: the long double of x86 has 64 bits.
struct element_value {
  long double number = 0;
  bool nan = false;
  bool negative = false;  ///< has a sign bit that is set
  std::uint64_t bits = 0;
};
[[nodiscard]] element_value value_of(dtype type, const element_bits& bits);
[[nodiscard]] std::vector<element_value> values_of(dtype type, std::span<const element_bits> bits);
/// The order that the library states for sorting.
[[nodiscard]] bool goes_before(const element_value& a, const element_value& b);
[[nodiscard]] bool goes_before(dtype type, const element_bits& a, const element_bits& b);

/// Fills a tensor before the request.
void fill_bits(scene& s, test_tensor& t, content with);
void fill_bits(test_tensor& t, const std::vector<element_bits>& bits);
/// The elements before and after the request.
[[nodiscard]] std::vector<element_bits> bits_before(const test_tensor& t);
[[nodiscard]] std::vector<element_bits> bits_now(scene& s, const test_tensor& t);
[[nodiscard]] std::vector<std::int64_t> integers_now(scene& s, const test_tensor& t);

/// Offsets of segments that cover `n` elements, or all but a few at each end: empty ones, single
/// elements and long ones.
[[nodiscard]] std::vector<std::int64_t> random_offsets(scene& s, std::int64_t n);
test_tensor& integers(scene& s, const std::vector<std::int64_t>& values, std::int64_t stride = 1);

[[nodiscard]] std::string case_name(dtype type, std::int64_t n, content with);

}  // namespace troupe::conformance
