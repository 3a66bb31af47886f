#pragma once

#include "libraries/dnn/cuda/attention/tiles/tile.hpp"

/// Scores of products of queries and keys.
namespace troupe::cuda::tiles {

/// A score plus its bias; −∞ if it is masked. `slope` becomes the derivative by the scaled product.
template <class Real>
[[nodiscard]] KERNEL_FUNCTION Real score_of(const problem& p, const memory<Real>& m,
                                            std::int64_t sequence, int row, std::int64_t key,
                                            Real product, Real& slope) {
  slope = 1;
  if (key < m.first[row] || key >= m.last[row]) return -std::numeric_limits<Real>::infinity();
  if (p.allowed.at != nullptr &&
      p.allowed.at[p.allowed.place(sequence, m.head[row], m.query[row], key)] == std::byte{0}) {
    return -std::numeric_limits<Real>::infinity();
  }
  Real score = product * static_cast<Real>(p.scale);
  if (const Real cap = static_cast<Real>(p.soft_cap); cap != 0) {
    const Real part = std::tanh(score / cap);
    score = cap * part;
    slope = 1 - part * part;
  }
  if (p.alibi) {
    const std::int64_t shift = p.ends_meet ? p.keys(sequence) - p.queries(sequence) : 0;
    score += m.slope[row] * static_cast<Real>(key - m.query[row] - shift);
  }
  if (p.bias.at != nullptr) {
    score += element<Real>(p.bias.at, p.bias.type,
                           p.bias.place(sequence, m.head[row], m.query[row], key));
  }
  return score;
}

/// The random words of dropout from the score of a query and a key on.
template <class Real>
[[nodiscard]] KERNEL_FUNCTION dnn::drawn_words words_of(const problem& p, const memory<Real>& m,
                                                        std::int64_t sequence, int row,
                                                        std::int64_t key) {
  const auto number =
      static_cast<std::uint64_t>(p.query_number(sequence, m.head[row], m.query[row]));
  return {p.seed,
          p.offset + number * static_cast<std::uint64_t>(p.s_kv) + static_cast<std::uint64_t>(key)};
}

}  // namespace troupe::cuda::tiles
