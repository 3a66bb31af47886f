#pragma once

#include "libraries/dnn/cuda/attention/tiles/scores.hpp"

// Source: Dao et al., "FlashAttention: Fast and Memory-Efficient Exact Attention with
// IO-Awareness", 2022, algorithm 4. Each gradient recomputes the probabilities that it needs. So no
// two blocks add to the same number, and the order of every sum is the same on every run.
namespace troupe::cuda::tiles {

enum class gradient : std::uint8_t { of_q, of_k, of_v, of_bias, of_sinks };
inline constexpr int gradients = 5;

/// The work items of one gradient.
struct gradient_work {
  std::int64_t sequences = 0;
  std::int64_t heads = 0;
  std::int64_t tiles = 0;  ///< per head
  std::int64_t parts = 0;  ///< per tile: groups of columns, or (`of_bias`) of tiles of keys

  [[nodiscard]] constexpr std::int64_t items() const { return sequences * heads * tiles * parts; }
};
struct backward_work {
  gradient_work of[gradients];

  template <int Columns>
  [[nodiscard]] static backward_work of_columns(const problem& p) {
    const auto parts = [](std::int64_t width) { return (width + Columns - 1) / Columns; };
    return {{{p.batch, p.heads, tiles_in(p.s_q), parts(p.d)},
             {p.batch, p.key_heads, tiles_in(p.s_kv), parts(p.d)},
             {p.batch, p.value_heads, tiles_in(p.s_kv), parts(p.d_v)},
             {p.bias_batch, p.bias_heads, tiles_in(p.s_q), tiles_in(p.s_kv)},
             {1, p.d_sinks.at != nullptr ? p.heads : 0, 1, 1}}};
  }
  [[nodiscard]] constexpr std::int64_t items() const {
    std::int64_t all = 0;
    for (const gradient_work& one : of)
      all += one.items();
    return all;
  }
};

/// Stores Σ o · d_o of one query, which the gradients of all its scores need.
template <class Real>
KERNEL_FUNCTION void store_delta(const problem& p, std::int64_t number) {
  const std::int64_t query = number % p.s_q;
  const std::int64_t head = number / p.s_q % p.heads;
  const std::int64_t sequence = number / p.s_q / p.heads;
  Real sum = 0;
  if (query < p.queries(sequence)) {
    const std::int64_t o = p.o.row(sequence, head, query);
    const std::int64_t d_o = p.d_o.row(sequence, head, query);
    for (std::int64_t x = 0; x < p.d_v; ++x) {
      sum += element<Real>(p.o.at, p.o.type, o + x * p.o.step) *
             element<Real>(p.d_o.at, p.d_o.type, d_o + x * p.d_o.step);
    }
  }
  static_cast<Real*>(p.delta)[number] = sum;
}

/// The weights of a tile of queries and a tile of keys: the probabilities for the gradient of
/// values, the gradients of the scores for all others.
template <class Real, class Threads>
KERNEL_FUNCTION void weigh(const problem& p, gradient what, std::int64_t sequence,
                           std::int64_t head, std::int64_t first_key, memory<Real>& m,
                           typename Threads::template own<scores_of_thread<Real>>& scores,
                           typename Threads::template own<scores_of_thread<Real>>& products,
                           const Threads& block) {
  begin_keys(p, sequence, head, first_key, m, block);
  multiply_rows(p.q, m.q_place, p.k, m.k_place, p.d, m, scores, block);
  if (what != gradient::of_v) {
    multiply_rows(p.d_o, m.d_o_place, p.v, m.v_place, p.d_v, m, products, block);
  }
  block.each([&](int t) {
    const int column = column_of<4>(t);
    TILE_UNROLL
    for (int r = 0; r < 4; ++r) {
      const int row = row_of(t) + r;
      Real kept[4] = {1, 1, 1, 1};
      if (p.drops) {
        dnn::drawn_words words = words_of(p, m, sequence, row, first_key + column);
        TILE_UNROLL
        for (Real& one : kept)
          one = words.next() >= p.threshold ? static_cast<Real>(p.kept) : Real{0};
      }
      TILE_UNROLL
      for (int c = 0; c < 4; ++c) {
        Real slope;
        const Real score =
            score_of(p, m, sequence, row, first_key + column + c, scores[t].of[r][c], slope);
        const Real probability = std::exp(score - m.statistic[row]);
        // Bias is added behind a soft cap.
        m.weights[row][column + c] =
            what == gradient::of_v ? probability * kept[c]
                                   : (what == gradient::of_bias ? Real{1} : slope) * probability *
                                         (kept[c] * products[t].of[r][c] - m.delta[row]);
      }
    }
  });
}

/// The gradient of a head's sink: its probability has no value, so that of each query is the
/// gradient of all others, negated.
template <class Real, class Threads>
KERNEL_FUNCTION void sum_sink(const problem& p, std::int64_t head, memory<Real>& m,
                              const Threads& block) {
  static_assert(threads <= 2 * depth * pitch);
  Real* const sums = &m.factors[0][0][0];
  block.each([&](int t) {
    const Real sink = p.sinks.template of<Real>(head);
    Real sum = 0;
    for (std::int64_t i = t; i < p.batch * p.s_q; i += threads) {
      const std::int64_t sequence = i / p.s_q;
      const std::int64_t query = i % p.s_q;
      if (p.is_wrong(sequence)) sum = std::numeric_limits<Real>::quiet_NaN();
      if (query >= p.queries(sequence)) continue;
      const Real statistic = element<Real>(p.statistics.at, p.statistics.type,
                                           p.statistics.place(sequence, head, query, 0));
      if (statistic == -std::numeric_limits<Real>::infinity()) continue;
      sum -= std::exp(sink - statistic) *
             static_cast<const Real*>(p.delta)[p.query_number(sequence, head, query)];
    }
    sums[t] = sum;
  });
  block.each([&](int t) {
    if (t != 0) return;
    Real sum = 0;
    for (int i = 0; i < threads; ++i)
      sum += sums[i];
    store_element<Real>(p.d_sinks.at, p.d_sinks.type, head * p.d_sinks.step, sum);
  });
}

/// One work item: some columns of the gradients of a tile of queries, keys or values, or those of a
/// tile of bias.
template <int Columns, class Real, class Threads>
KERNEL_FUNCTION void backward_tile(const problem& p, const backward_work& work, std::int64_t item,
                                   memory<Real>& m, const Threads& block) {
  int kind = 0;
  while (item >= work.of[kind].items())
    item -= work.of[kind++].items();
  const gradient_work& mine = work.of[kind];
  const auto what = static_cast<gradient>(kind);
  const std::int64_t part = item % mine.parts;
  const std::int64_t first = item / mine.parts % mine.tiles * tile;  // its own queries or keys
  const std::int64_t own_head = item / mine.parts / mine.tiles % mine.heads;
  const std::int64_t own_sequence = item / mine.parts / mine.tiles / mine.heads;
  if (what == gradient::of_sinks) return sum_sink(p, own_head, m, block);

  typename Threads::template own<numbers<Real, Columns / across>> sums;
  typename Threads::template own<scores_of_thread<Real>> scores;
  typename Threads::template own<scores_of_thread<Real>> products;
  block.each([&](int t) { sums[t] = {}; });

  if (what == gradient::of_q) {
    begin_queries(p, {own_sequence, own_head, 1, first}, m, block);
    for (std::int64_t key = m.any.first / tile * tile; key < m.any.last; key += tile) {
      weigh(p, what, own_sequence, own_head, key, m, scores, products, block);
      add_products<Columns>(true, p.k, m.k_place, part * Columns, p.d, m, sums, block);
    }
  } else if (what == gradient::of_bias) {
    const std::int64_t key = part * tile;
    // Sums over all sequences and heads that share this bias.
    const std::int64_t last_sequence = p.bias_batch == 1 ? p.batch : own_sequence + 1;
    const std::int64_t last_head = p.bias_heads == 1 ? p.heads : own_head + 1;
    for (std::int64_t n = own_sequence; n < last_sequence; ++n) {
      for (std::int64_t head = own_head; head < last_head; ++head) {
        begin_queries(p, {n, head, 1, first}, m, block);
        if (key >= m.any.last || key + tile <= m.any.first) continue;
        weigh(p, what, n, head, key, m, scores, products, block);
        block.each([&](int t) {
          TILE_UNROLL
          for (int r = 0; r < 4; ++r) {
            TILE_UNROLL
            for (int c = 0; c < 4; ++c)
              sums[t].of[r][c] += m.weights[row_of(t) + r][column_of<4>(t) + c];
          }
        });
      }
    }
  } else {
    const std::int64_t sharing = p.heads / mine.heads;
    const head_rows& rows = what == gradient::of_k ? p.q : p.d_o;
    const std::int64_t* const places = what == gradient::of_k ? m.q_place : m.d_o_place;
    const std::int64_t width = what == gradient::of_k ? p.d : p.d_v;
    for (std::int64_t head = own_head * sharing; head < (own_head + 1) * sharing; ++head) {
      for (std::int64_t row = 0; row < p.queries(own_sequence); row += tile) {
        begin_queries(p, {own_sequence, head, 1, row}, m, block);
        if (first >= m.any.last || first + tile <= m.any.first) continue;
        weigh(p, what, own_sequence, head, first, m, scores, products, block);
        add_products<Columns>(false, rows, places, part * Columns, width, m, sums, block);
      }
    }
  }

  const bool of_q = what == gradient::of_q;
  const head_rows& to = of_q ? p.d_q : what == gradient::of_k ? p.d_k : p.d_v_rows;
  const std::int64_t width = what == gradient::of_v ? p.d_v : p.d;
  const std::int64_t bound = of_q ? p.s_q : p.s_kv;
  const std::int64_t length = of_q ? p.queries(own_sequence) : p.keys(own_sequence);
  const Real factor = what == gradient::of_v ? Real{1} : static_cast<Real>(p.scale);
  const bool wrong = p.is_wrong(own_sequence);
  block.each([&](int t) {
    TILE_UNROLL
    for (int r = 0; r < 4; ++r) {
      const std::int64_t row = first + row_of(t) + r;
      if (what == gradient::of_bias) {
        TILE_UNROLL
        for (int c = 0; c < 4; ++c) {
          const std::int64_t key = part * tile + column_of<4>(t) + c;
          if (row < p.s_q && key < p.s_kv) {
            store_element<Real>(p.d_bias.at, p.d_bias.type,
                                p.d_bias.place(own_sequence, own_head, row, key), sums[t].of[r][c]);
          }
        }
        continue;
      }
      if (row >= (to.offsets != nullptr ? length : bound)) continue;
      store_columns<Columns, Real>(t, to, to.row(own_sequence, own_head, row), part * Columns,
                                   width, [&](int c) {
                                     return wrong          ? std::numeric_limits<Real>::quiet_NaN()
                                            : row < length ? sums[t].of[r][c] * factor
                                                           : Real{0};
                                   });
    }
  });
}

}  // namespace troupe::cuda::tiles
