#include "libraries/rng/shared/sobol.hpp"

#include <boost/random/sobol.hpp>

#include <array>
#include <bit>
#include <cstddef>

namespace troupe::rng {
namespace {

using table = boost::random::default_sobol_table;
static_assert(table::max_dimension == rng::most_dimensions);

/// The direction numbers of a dimension, by the recurrence of its polynomial. Source: P. Bratley,
/// B. L. Fox, "Algorithm 659: Implementing Sobol's Quasirandom Sequence Generator", 1988.
template <class Integer>
void fill_directions(Integer* numbers, std::int64_t dimension) {
  constexpr int bits = 8 * sizeof(Integer);
  if (dimension == 0) {
    for (int i = 0; i < bits; ++i)
      numbers[i] = Integer{1} << (bits - 1 - i);
    return;
  }
  const auto of = static_cast<std::size_t>(dimension - 1);
  const unsigned polynomial = table::polynomial(of);
  const int degree = static_cast<int>(std::bit_width(polynomial)) - 1;
  for (int i = 0; i < degree && i < bits; ++i) {
    numbers[i] = static_cast<Integer>(table::minit(of, static_cast<std::size_t>(i)))
                 << (bits - 1 - i);
  }
  for (int i = degree; i < bits; ++i) {
    Integer next = numbers[i - degree] ^ numbers[i - degree] >> degree;
    for (int k = 1; k < degree; ++k) {
      if ((polynomial >> (degree - k) & 1) != 0) next ^= numbers[i - k];
    }
    numbers[i] = next;
  }
}

/// Random words for the scrambling of one dimension.
class scrambling {
 public:
  scrambling(std::uint64_t seed, std::int64_t dimension) noexcept
      : seed_(seed), dimension_(static_cast<std::uint64_t>(dimension)) {}
  template <class Integer>
  Integer next() noexcept {
    return static_cast<Integer>(first_half(philox_block(seed_, dimension_, number_++)));
  }

 private:
  std::uint64_t seed_;
  std::uint64_t dimension_;
  std::uint64_t number_ = 0;
};

/// Multiplies by a lower triangular matrix of bits with ones on its diagonal, and draws a shift.
template <class Integer>
void scramble(Integer* row, scrambling drawn) {
  constexpr std::size_t bits = 8 * sizeof(Integer);
  std::array<Integer, bits> columns{};  // the column of each bit of a number, the highest first
  for (std::size_t i = 0; i < bits; ++i) {
    const Integer diagonal = Integer{1} << (bits - 1 - i);
    columns[i] = diagonal | (drawn.next<Integer>() & (diagonal - 1));
  }
  for (std::size_t bit = 1; bit <= bits; ++bit) {
    Integer image = 0;
    for (std::size_t i = 0; i < bits; ++i) {
      if ((row[bit] >> (bits - 1 - i) & 1) != 0) image ^= columns[i];
    }
    row[bit] = image;
  }
  row[0] = drawn.next<Integer>();
}

}  // namespace

template <class Integer>
std::vector<Integer> sobol_rows(std::int64_t dimensions, bool scrambled, std::uint64_t seed) {
  std::vector<Integer> rows(static_cast<std::size_t>(dimensions * sobol_row<Integer>));
  for (std::int64_t d = 0; d < dimensions; ++d) {
    Integer* const row = rows.data() + d * sobol_row<Integer>;
    fill_directions(row + 1, d);
    if (scrambled) scramble(row, scrambling(seed, d));
  }
  return rows;
}

template std::vector<std::uint32_t> sobol_rows(std::int64_t, bool, std::uint64_t);
template std::vector<std::uint64_t> sobol_rows(std::int64_t, bool, std::uint64_t);

}  // namespace troupe::rng
