#pragma once

#include "libraries/dnn/cuda/attention/tiles/scores.hpp"

#include <numeric>

// Source of the running softmax: Dao et al., "FlashAttention: Fast and Memory-Efficient Exact
// Attention with IO-Awareness", 2022.
namespace troupe::cuda::tiles {

/// Query heads that share a key head and a value head are computed together, as a group.
struct forward_work {
  std::int64_t heads = 1;   ///< per group
  std::int64_t groups = 0;  ///< per sequence
  std::int64_t tiles = 0;   ///< per group
  std::int64_t parts = 1;   ///< parts of a result's columns

  template <int Columns>
  [[nodiscard]] static forward_work of(const problem& p) {
    forward_work made{.heads = std::gcd(p.heads / p.key_heads, p.heads / p.value_heads)};
    made.groups = p.heads / made.heads;
    made.tiles = tiles_in(made.heads * p.s_q);
    made.parts = std::max<std::int64_t>((p.d_v + Columns - 1) / Columns, 1);
    return made;
  }
  [[nodiscard]] constexpr std::int64_t items(std::int64_t batch) const {
    return batch * groups * tiles * parts;
  }
};

/// Adds the scores of a tile to the running softmax of its queries. Weights become probabilities
/// relative to the maximum so far. `rescale` becomes the factor for the earlier sums.
template <class Real, class Threads>
KERNEL_FUNCTION void soften(const problem& p, std::int64_t sequence, std::int64_t first_key,
                            memory<Real>& m, const Threads& block) {
  constexpr Real least = -std::numeric_limits<Real>::infinity();
  constexpr int each = tile / per_row;  // keys per thread
  block.each([&](int t) {
    const int row = t / per_row;
    Real most = least;
    for (int j = 0; j < each; ++j) {
      const Real score = m.weights[row][t % per_row * each + j];
      most = score > most ? score : most;
    }
    m.partial[row][t % per_row] = most;
  });
  block.each([&](int t) {
    if (t >= tile) return;
    const Real before = m.most[t];
    Real most = before;
    for (int i = 0; i < per_row; ++i)
      most = m.partial[t][i] > most ? m.partial[t][i] : most;
    // A query that has not attended to anything yet has no finite maximum to subtract.
    m.rescale[t] = std::exp(before - (most == least ? Real{0} : most));
    m.most[t] = most;
  });
  block.each([&](int t) {
    const int row = t / per_row;
    const int first = t % per_row * each;
    const Real subtracted = m.most[row] == least ? Real{0} : m.most[row];
    Real sum = 0;
    for (int j = 0; j < each; ++j) {
      const Real probability = std::exp(m.weights[row][first + j] - subtracted);
      m.weights[row][first + j] = probability;
      sum += probability;
    }
    m.partial[row][t % per_row] = sum;
    if (!p.drops) return;
    dnn::drawn_words words = words_of(p, m, sequence, row, first_key + first);
    for (int j = 0; j < each; ++j)
      m.weights[row][first + j] *=
          words.next() >= p.threshold ? static_cast<Real>(p.kept) : Real{0};
  });
  block.each([&](int t) {
    if (t >= tile) return;
    Real sum = m.sum[t] * m.rescale[t];
    for (int i = 0; i < per_row; ++i)
      sum += m.partial[t][i];
    m.sum[t] = sum;
  });
}

/// One work item: some columns of the results of a tile of queries.
template <int Columns, class Real, class Threads>
KERNEL_FUNCTION void forward_tile(const problem& p, const forward_work& work, std::int64_t item,
                                  memory<Real>& m, const Threads& block) {
  const std::int64_t part = item % work.parts;
  item /= work.parts;
  const std::int64_t first_column = part * Columns;
  const std::int64_t sequence = item / work.tiles / work.groups;
  const tile_of_queries queries{.sequence = sequence,
                                .first_head = item / work.tiles % work.groups * work.heads,
                                .heads = work.heads,
                                .first_row = item % work.tiles * tile};
  begin_queries(p, queries, m, block);
  typename Threads::template own<numbers<Real, Columns / across>> sums;
  typename Threads::template own<scores_of_thread<Real>> scores;
  block.each([&](int t) { sums[t] = {}; });

  // Tiles begin at the same keys for every query, so a query's result does not depend on the
  // others.
  for (std::int64_t key = m.any.first / tile * tile; key < m.any.last; key += tile) {
    begin_keys(p, sequence, queries.first_head, key, m, block);
    multiply_rows(p.q, m.q_place, p.k, m.k_place, p.d, m, scores, block);
    block.each([&](int t) {
      TILE_UNROLL
      for (int r = 0; r < 4; ++r) {
        const int row = row_of(t) + r;
        TILE_UNROLL
        for (int c = 0; c < 4; ++c) {
          const int column = column_of<4>(t) + c;
          Real slope;
          m.weights[row][column] =
              score_of(p, m, sequence, row, key + column, scores[t].of[r][c], slope);
        }
      }
    });
    soften(p, sequence, key, m, block);
    block.each([&](int t) {
      TILE_UNROLL
      for (int r = 0; r < 4; ++r) {
        const Real factor = m.rescale[row_of(t) + r];
        TILE_UNROLL
        for (int c = 0; c < Columns / across; ++c)
          sums[t].of[r][c] *= factor;
      }
    });
    add_products<Columns>(true, p.v, m.v_place, first_column, p.d_v, m, sums, block);
  }

  const std::int64_t length = p.queries(sequence);
  const bool wrong = p.is_wrong(sequence);
  constexpr Real nan = std::numeric_limits<Real>::quiet_NaN();
  block.each([&](int t) {
    TILE_UNROLL
    for (int r = 0; r < 4; ++r) {
      const int row = row_of(t) + r;
      const std::int64_t query = m.query[row];
      if (query < 0 || (p.o.offsets != nullptr && query >= length)) continue;
      const Real sum = m.sum[row];
      store_columns<Columns, Real>(
          t, p.o, p.o.row(sequence, m.head[row], query), first_column, p.d_v, [&](int c) {
            return wrong ? nan : sum == 0 ? Real{0} : sums[t].of[r][c] / sum;
          });
    }
    if (t >= tile || m.query[t] < 0 || part != 0 || p.statistics.at == nullptr) return;
    const Real statistic =
        m.sum[t] == 0 ? -std::numeric_limits<Real>::infinity() : m.most[t] + std::log(m.sum[t]);
    store_element<Real>(p.statistics.at, p.statistics.type,
                        p.statistics.place(sequence, m.head[t], m.query[t], 0),
                        wrong ? nan : statistic);
  });
}

}  // namespace troupe::cuda::tiles
