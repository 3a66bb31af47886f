#pragma once

#include "libraries/dnn/cuda/attention/tiles/problem.hpp"
#include "libraries/dnn/shared/attention_masks.hpp"

#include <cmath>
#include <limits>

#ifdef __CUDACC__
#define TILE_UNROLL _Pragma("unroll")
#else
#define TILE_UNROLL
#endif

/// The work of a block of threads on tiles of scores, in steps: `each` calls a function for each
/// thread, then waits for all. Threads read from shared memory only what earlier steps wrote. `own`
/// holds the private numbers of each thread between steps.
namespace troupe::cuda::tiles {

inline constexpr int tile = 64;   ///< the queries, and the keys, of a tile
inline constexpr int depth = 16;  ///< columns of factors that are in shared memory at a time
inline constexpr int pitch = tile + 4;
inline constexpr int per_row = threads / tile;
inline constexpr int across = tile / 4;  ///< threads along a side; each has 4 × 4 scores

/// The first of the four rows, and of the four columns, that a thread has in a tile.
[[nodiscard]] constexpr int row_of(int thread) { return thread / across * 4; }
template <int Columns>
[[nodiscard]] constexpr int column_of(int thread) {
  return thread % across * Columns;
}

template <class Real, int Columns>
struct numbers {
  Real of[4][std::size_t{Columns}];
};
template <class Real>
using scores_of_thread = numbers<Real, 4>;

template <class Real>
struct alignas(16) memory {
  // Columns of the rows that are multiplied, or a piece of the rows that weights multiply.
  Real factors[2][depth][pitch];
  Real weights[tile][pitch];  // [query][key]
  Real most[tile], sum[tile], rescale[tile];
  Real slope[tile], statistic[tile], delta[tile];
  Real partial[tile][per_row];
  std::int64_t head[tile], query[tile];  // −1: none
  std::int64_t first[tile], last[tile];  // keys that the query attends to
  std::int64_t q_place[tile], d_o_place[tile], k_place[tile], v_place[tile];  // −1: none
  dnn::key_range any;  // keys that a query of the tile attends to
};

/// The queries of a tile: (head, query) from `first_row` on, queries innermost.
struct tile_of_queries {
  std::int64_t sequence;
  std::int64_t first_head;
  std::int64_t heads;
  std::int64_t first_row;
};

template <class Real, class Threads>
KERNEL_FUNCTION void begin_queries(const problem& p, const tile_of_queries& of, memory<Real>& m,
                                   const Threads& block) {
  const std::int64_t queries = p.queries(of.sequence);
  const std::int64_t keys = p.keys(of.sequence);
  const dnn::band masks{
      .keys = keys, .left = p.left, .right = p.right, .shift = p.ends_meet ? keys - queries : 0};
  block.each([&](int t) {
    if (t >= tile) return;
    const std::int64_t row = of.first_row + t;
    const bool exists = row < of.heads * p.s_q;
    const std::int64_t head = of.first_head + (exists ? row / p.s_q : 0);
    const std::int64_t query = exists ? row % p.s_q : -1;
    const bool computed = exists && query < queries;
    const dnn::key_range range = computed ? masks.of_query(query) : dnn::key_range{0, 0};
    m.head[t] = head;
    m.query[t] = query;
    m.first[t] = range.first;
    m.last[t] = range.last;
    m.q_place[t] = computed ? p.q.row(of.sequence, head, query) : -1;
    m.slope[t] =
        p.alibi ? static_cast<Real>(std::exp2(dnn::alibi_exponent(head, p.heads))) : Real{0};
    // A sink is in the softmax before any key is.
    const bool has_sink = computed && p.sinks.at != nullptr;
    m.most[t] = has_sink ? p.sinks.template of<Real>(head) : -std::numeric_limits<Real>::infinity();
    m.sum[t] = has_sink ? 1 : 0;
    if (p.delta == nullptr) return;  // forward
    m.d_o_place[t] = computed ? p.d_o.row(of.sequence, head, query) : -1;
    m.delta[t] = computed
                     ? static_cast<const Real*>(p.delta)[p.query_number(of.sequence, head, query)]
                     : Real{0};
    const Real statistic = computed ? element<Real>(p.statistics.at, p.statistics.type,
                                                    p.statistics.place(of.sequence, head, query, 0))
                                    : Real{0};
    // If the statistic is −∞, all scores of the query are −∞, and their probabilities are 0.
    m.statistic[t] = statistic == -std::numeric_limits<Real>::infinity() ? Real{0} : statistic;
  });
  block.each([&](int t) {
    if (t != 0) return;
    dnn::key_range any{keys, 0};
    for (int i = 0; i < tile; ++i) {
      if (m.first[i] >= m.last[i]) continue;
      if (m.first[i] < any.first) any.first = m.first[i];
      if (m.last[i] > any.last) any.last = m.last[i];
    }
    m.any = any;
  });
}

/// Keys that no query of the tile attends to are not read.
template <class Real, class Threads>
KERNEL_FUNCTION void begin_keys(const problem& p, std::int64_t sequence, std::int64_t head,
                                std::int64_t first_key, memory<Real>& m, const Threads& block) {
  block.each([&](int t) {
    if (t >= tile) return;
    const std::int64_t key = first_key + t;
    const bool read = key >= m.any.first && key < m.any.last;
    m.k_place[t] = read ? p.k.row(sequence, head / (p.heads / p.key_heads), key) : -1;
    m.v_place[t] = read ? p.v.row(sequence, head / (p.heads / p.value_heads), key) : -1;
  });
}

/// scores[query][key] = Σ left row · right row, over `width` columns.
template <class Real, class Threads>
KERNEL_FUNCTION void multiply_rows(const head_rows& left, const std::int64_t* left_places,
                                   const head_rows& right, const std::int64_t* right_places,
                                   std::int64_t width, memory<Real>& m,
                                   typename Threads::template own<scores_of_thread<Real>>& scores,
                                   const Threads& block) {
  block.each([&](int t) { scores[t] = {}; });
  for (std::int64_t x = 0; x < width; x += depth) {
    block.each([&](int t) {
      const int column = t % depth;
      const bool inside = x + column < width;
      TILE_UNROLL
      for (int row = t / depth; row < tile; row += threads / depth) {
        const auto take = [&](const head_rows& rows, std::int64_t place) {
          return inside && place >= 0
                     ? element<Real>(rows.at, rows.type, place + (x + column) * rows.step)
                     : Real{0};
        };
        m.factors[0][column][row] = take(left, left_places[row]);
        m.factors[1][column][row] = take(right, right_places[row]);
      }
    });
    block.each([&](int t) {
      const int row = row_of(t);
      const int column = column_of<4>(t);
      for (int k = 0; k < depth; ++k) {
        TILE_UNROLL
        for (int r = 0; r < 4; ++r) {
          TILE_UNROLL
          for (int c = 0; c < 4; ++c)
            scores[t].of[r][c] += m.factors[0][k][row + r] * m.factors[1][k][column + c];
        }
      }
    });
  }
}

/// sums[row][x] += Σ weight · element x of a row of `rows`, for columns from `first_column` on.
/// `of_queries`: each query sums rows of keys; otherwise each key sums rows of queries.
template <int Columns, class Real, class Threads>
KERNEL_FUNCTION void add_products(
    bool of_queries, const head_rows& rows, const std::int64_t* places, std::int64_t first_column,
    std::int64_t width, memory<Real>& m,
    typename Threads::template own<numbers<Real, Columns / across>>& sums, const Threads& block) {
  static_assert(depth * Columns <= 2 * depth * pitch);
  Real* const piece = &m.factors[0][0][0];
  constexpr int columns = Columns / across;
  for (int first = 0; first < tile; first += depth) {
    block.each([&](int t) {
      TILE_UNROLL
      for (int at = t; at < depth * Columns; at += threads) {
        const std::int64_t place = places[first + at / Columns];
        const std::int64_t column = first_column + at % Columns;
        piece[at] = place >= 0 && column < width
                        ? element<Real>(rows.at, rows.type, place + column * rows.step)
                        : Real{0};
      }
    });
    block.each([&](int t) {
      const int row = row_of(t);
      const int column = column_of<columns>(t);
      for (int k = 0; k < depth; ++k) {
        TILE_UNROLL
        for (int r = 0; r < 4; ++r) {
          const Real weight =
              of_queries ? m.weights[row + r][first + k] : m.weights[first + k][row + r];
          TILE_UNROLL
          for (int c = 0; c < columns; ++c)
            sums[t].of[r][c] += weight * piece[k * Columns + column + c];
        }
      }
    });
  }
}

/// Stores the columns of a row that this thread has.
template <int Columns, class Real, class Value>
KERNEL_FUNCTION void store_columns(int thread, const head_rows& to, std::int64_t place,
                                   std::int64_t first_column, std::int64_t width,
                                   const Value& value) {
  constexpr int columns = Columns / across;
  TILE_UNROLL
  for (int c = 0; c < columns; ++c) {
    const std::int64_t column = first_column + column_of<columns>(thread) + c;
    if (column < width) store_element<Real>(to.at, to.type, place + column * to.step, value(c));
  }
}

[[nodiscard]] constexpr std::int64_t tiles_in(std::int64_t rows) {
  return (rows + tile - 1) / tile;
}

}  // namespace troupe::cuda::tiles
