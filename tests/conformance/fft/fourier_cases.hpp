#pragma once

#include "conformance/scene.hpp"
#include "fourier_reference.hpp"

#include <span>
#include <string>
#include <vector>

/// Shared by the tests of Fourier transforms: operands of numbers, real or complex, in any
/// precision, and the comparison with the reference.
namespace troupe::conformance {

inline constexpr dtype precisions[] = {dtype::f32, dtype::f64, dtype::f16, dtype::bf16};
inline constexpr fft::direction directions[] = {fft::direction::forward, fft::direction::inverse};
inline constexpr fft::normalization normalizations[] = {
    fft::normalization::none, fft::normalization::by_n, fft::normalization::ortho};

/// How the numbers of an operand lie.
enum class arrangement : std::uint8_t {
  packed,
  gaps,      ///< between neighbours, and more between rows
  reversed,  ///< the first dimension is the fastest
  rotated,   ///< the last but one dimension is the fastest, with gaps between rows
};
inline constexpr arrangement arrangements[] = {arrangement::packed, arrangement::gaps,
                                               arrangement::reversed, arrangement::rotated};

[[nodiscard]] bool is_half(dtype precision);
/// The type of an operand's elements.
[[nodiscard]] dtype element_type(dtype precision, bool complex);

/// An operand of `size` numbers with random content.
test_tensor& numbers(scene& s, dtype precision, bool complex, const scene::extents& size,
                     arrangement a = arrangement::packed);
/// An operand of any elements that a function reads or writes, with random content.
test_tensor& elements(scene& s, dtype type, const scene::extents& size,
                      arrangement a = arrangement::packed);
void fill_numbers(scene& s, test_tensor& t, bool complex, const std::vector<number>& values);
/// Its numbers before the request, as rounded to the type, and after.
[[nodiscard]] std::vector<number> numbers_before(const test_tensor& t, bool complex);
[[nodiscard]] std::vector<number> numbers_now(scene& s, const test_tensor& t, bool complex);

/// The transforms under test: the last `rank` dimensions of `size`, which counts the numbers of
/// the side that is not halved.
struct fourier_case {
  dtype precision = dtype::f64;
  scene::extents size;
  int rank = 1;
  fft::direction direction = fft::direction::forward;
  fft::normalization scale = fft::normalization::none;

  [[nodiscard]] std::int64_t transformed_numbers() const;
  [[nodiscard]] double factor() const;
  /// The extents of a halved side.
  [[nodiscard]] scene::extents half() const;
  [[nodiscard]] std::string text() const;
};

/// Expects that `actual` holds the transforms of `x`, all numbers of the side that is not halved.
/// For each transform: |error| ≤ 4 (log₂ N + 8) ε ‖x‖₂ · factor + ε |expected|.
void expect_transform(scene& s, const fourier_case& c, const std::vector<number>& x,
                      const std::vector<number>& actual, bool halved_output = false);

/// Cases of every precision, rank and number of batch dimensions: prime, odd, even and single
/// extents, and no transform at all; powers of two for halves.
[[nodiscard]] std::vector<fourier_case> fourier_cases();

}  // namespace troupe::conformance
