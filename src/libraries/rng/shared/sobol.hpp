#pragma once

#include "libraries/rng/shared/philox.hpp"

#include <troupe/rng/generator.hpp>

#include <cstdint>
#include <vector>

/// Sobol sequences, computed directly: a coordinate is the exclusive or of the direction numbers
/// that the Gray code of the point's number names. Source: I. A. Antonov, V. M. Saleev, "An
/// economic method of computing LPτ-sequences", 1979. Direction numbers: S. Joe, F. Y. Kuo,
/// "Constructing Sobol sequences with better two-dimensional projections", 2008.
namespace troupe::rng {

/// For each dimension a row: the shift of all its coordinates, then a direction number for each bit
/// of a point's number, the lowest first.
template <class Integer>
inline constexpr int sobol_row = 1 + 8 * static_cast<int>(sizeof(Integer));

/// The rows of so many dimensions. `scrambled`: by a random linear map of the bits of each
/// coordinate and a random shift, both from `seed`. Source: J. Matoušek, "On the L2-discrepancy for
/// anchored boxes", 1998.
template <class Integer>
[[nodiscard]] std::vector<Integer> sobol_rows(std::int64_t dimensions, bool scrambled,
                                              std::uint64_t seed);
extern template std::vector<std::uint32_t> sobol_rows(std::int64_t, bool, std::uint64_t);
extern template std::vector<std::uint64_t> sobol_rows(std::int64_t, bool, std::uint64_t);

/// The coordinate of point number `point` in the dimension of `row`.
template <class Integer>
constexpr Integer sobol_coordinate(const Integer* row, std::uint64_t point) noexcept {
  Integer coordinate = row[0];
  int bit = 1;
  for (std::uint64_t gray = point ^ point >> 1; gray != 0; gray >>= 1, ++bit) {
    if ((gray & 1) != 0) coordinate ^= row[bit];
  }
  return coordinate;
}

/// A coordinate as the most significant of `Count` words, or as its own width if that is one word.
template <std::size_t Count, class Integer>
constexpr words<Count> sobol_words(Integer coordinate) noexcept {
  words<Count> made;
  if constexpr (sizeof(Integer) == 4) {
    made.word[Count - 1] = coordinate;
  } else {
    made.word[Count - 1] = static_cast<std::uint32_t>(coordinate >> 32);
    if constexpr (Count > 1) made.word[Count - 2] = static_cast<std::uint32_t>(coordinate);
  }
  return made;
}

}  // namespace troupe::rng
