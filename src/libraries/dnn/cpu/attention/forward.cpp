#include "libraries/dnn/cpu/attention/passes.hpp"
#include "libraries/dnn/cpu/attention/tiles.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

// Source of the running softmax: Dao et al., "FlashAttention: Fast and Memory-Efficient Exact
// Attention with IO-Awareness", 2022.
namespace troupe::cpu::attention {
namespace {

// Tiles of no more rows compute their scores as products of rows, along which they are vectorised.
constexpr std::int64_t few_rows = 4;

float factor_in(const any_tensor& t) noexcept { return t.null() ? 1.0f : *t.data<float>(); }

/// The factors of e4m3; 1 for all other types.
struct scaling {
  float scores = 1;
  float probabilities = 1;
  float result = 1;  ///< for probabilities · v
  float stored = 1;

  explicit scaling(const dnn::attention_forward& r)
      : scores(factor_in(r.fp8.descale_q) * factor_in(r.fp8.descale_k)),
        probabilities(factor_in(r.fp8.scale_s)),
        result(factor_in(r.fp8.descale_s) * factor_in(r.fp8.descale_v)),
        stored(factor_in(r.fp8.scale_o)) {}
};

/// The largest values that one thread has seen.
struct alignas(64) largest {
  float s = 0;
  float o = 0;

  // A NaN is the largest.
  static void take(float& most, float x) noexcept {
    if (!std::isnan(most) && !(std::abs(x) <= most)) most = std::abs(x);
  }
};

template <class T>
class forward_tiles {
 public:
  forward_tiles(const dnn::attention_forward& r, sequence_lengths lengths)
      : r_(r),
        sizes_(dnn::sizes_of(r)),
        groups_(head_group::of(sizes_)),
        lengths_(std::move(lengths)),
        drops_(r),
        fp8_(r.q.type() == dtype::e4m3),
        scales_(r),
        terms_(r, static_cast<T>(dnn::scale_of(r)) * static_cast<T>(scales_.scores)) {
    for (const std::int64_t queries : lengths_.queries) {
      first_tile_.push_back(tiles_);
      tiles_ += (groups_.heads * queries + tile_rows - 1) / tile_rows * groups_.count;
    }
  }

  result<void> run(lane_context& lane) {
    const std::int64_t keys =
        *std::max_element(lengths_.keys.begin(), lengths_.keys.end());  // there is a sequence
    const double work = static_cast<double>(tiles_) * tile_rows * static_cast<double>(keys) *
                        static_cast<double>(sizes_.d + sizes_.d_v);
    const int threads = threads_for(tiles_, work);
    auto memory = lane.workspace(static_cast<std::size_t>(scratch_bytes() * threads));
    if (!memory) return std::move(memory).error();
    std::vector<largest> seen(static_cast<std::size_t>(threads));
    in_parallel(threads, tiles_, [&](std::int64_t task, int thread) {
      const auto own = memory->subspan(static_cast<std::size_t>(scratch_bytes() * thread));
      run_tile(tile_number(task), own, seen[static_cast<std::size_t>(thread)]);
    });
    clear_the_rest();
    largest of_all;
    for (const largest& one : seen) {
      largest::take(of_all.s, one.s);
      largest::take(of_all.o, one.o);
    }
    if (!r_.fp8.amax_s.null()) *r_.fp8.amax_s.data<float>() = of_all.s;
    if (!r_.fp8.amax_o.null()) *r_.fp8.amax_o.data<float>() = of_all.o;
    return {};
  }

  /// Queries that attend to nothing because their sequence has no more.
  void clear_the_rest() const {
    for (std::int64_t n = 0; n < sizes_.batch; ++n) {
      const sequence_rows o = results_of(r_, r_.o).of(n);
      const std::int64_t end = dnn::packs_queries(r_) && r_.statistics.null() ? 0 : sizes_.s_q;
      for (std::int64_t head = 0; head < sizes_.heads; ++head) {
        for (std::int64_t i = lengths_.queries[static_cast<std::size_t>(n)]; i < end; ++i) {
          store_statistic(n, head, i, -std::numeric_limits<T>::infinity());
          if (!dnn::packs_queries(r_)) zero_row(o.type, o.row(head, i), o.stride, sizes_.d_v);
        }
      }
    }
  }

 private:
  [[nodiscard]] std::int64_t scratch_bytes() const noexcept {
    const std::int64_t width = padded(sizes_.d);
    const std::int64_t width_v = padded(sizes_.d_v);
    const auto bytes = scratch::bytes<T>;
    return bytes(std::max<std::int64_t>(width, 1) * tile_rows) + bytes(width) +
           2 * bytes(block_keys * tile_rows) + bytes(block_keys * width) +
           bytes(block_keys * width_v) + bytes(tile_rows * width_v) + 4 * bytes(tile_rows) +
           masked_rows<T>::bytes();
  }

  [[nodiscard]] tile tile_number(std::int64_t task) const noexcept {
    const auto after = std::upper_bound(first_tile_.begin(), first_tile_.end(), task);
    const std::int64_t sequence = after - first_tile_.begin() - 1;
    const std::int64_t rows = groups_.heads * lengths_.queries[static_cast<std::size_t>(sequence)];
    const std::int64_t per_group = (rows + tile_rows - 1) / tile_rows;
    const std::int64_t place = task - first_tile_[static_cast<std::size_t>(sequence)];
    // The last of a group first: in causal attention these have most to do.
    const std::int64_t first = (per_group - 1 - place % per_group) * tile_rows;
    return {.sequence = sequence,
            .group = place / per_group,
            .first = first,
            .rows = std::min(tile_rows, rows - first)};
  }

  void store_statistic(std::int64_t sequence, std::int64_t head, std::int64_t query,
                       T value) const {
    const any_tensor& s = r_.statistics;
    if (s.null()) return;
    const std::int64_t place = sequence * s.stride(0) + head * s.stride(1) + query * s.stride(2);
    store_row(s.type(), s.address() + place * size_of(s.type()), 1, &value, 1);
  }

  /// The state of one thread while it computes a tile.
  struct workplace {
    const sequence_rows k;
    const sequence_rows v;
    std::span<const tile_row> rows;
    std::int64_t columns;  ///< columns of scores
    std::int64_t sequence;
    std::int64_t key_head;
    std::int64_t value_head;
    T* queries;
    T* row;
    T* scores;
    T* kept;
    T* keys;
    T* values;
    T* sums;
    running_softmax<T> softmax;
    T* statistic;
    masked_rows<T> masks;
  };

  void run_tile(const tile& t, std::span<std::byte> memory, largest& seen) const {
    const auto n = static_cast<std::size_t>(t.sequence);
    std::array<tile_row, tile_rows> workspace;
    const auto rows = rows_of(t, groups_, lengths_.queries[n], workspace);
    const std::int64_t width = padded(sizes_.d);
    const std::int64_t width_v = padded(sizes_.d_v);
    scratch from(memory);
    workplace w{.k = keys_of(r_, r_.k).of(t.sequence),
                .v = values_of(r_, r_.v).of(t.sequence),
                .rows = rows,
                .columns = padded(t.rows),
                .sequence = t.sequence,
                .key_head = rows.front().head / groups_.per_key_head,
                .value_head = rows.front().head / groups_.per_value_head,
                .queries = from.take<T>(std::max<std::int64_t>(width, 1) * tile_rows),
                .row = from.take<T>(width),
                .scores = from.take<T>(block_keys * tile_rows),
                .kept = from.take<T>(block_keys * tile_rows),
                .keys = from.take<T>(block_keys * width),
                .values = from.take<T>(block_keys * width_v),
                .sums = from.take<T>(tile_rows * width_v),
                .softmax = {.most = from.take<T>(tile_rows),
                            .sum = from.take<T>(tile_rows),
                            .rescale = from.take<T>(tile_rows)},
                .statistic = from.take<T>(tile_rows),
                .masks = masked_rows<T>(from)};
    w.masks.begin(rows, band_of(r_, lengths_.queries[n], lengths_.keys[n]), sizes_.heads, r_.alibi);
    const sequence_rows q = queries_of(r_, r_.q).of(t.sequence);
    if (t.rows <= few_rows)
      load_rows(with_, q, rows, sizes_.d, width, w.queries);
    else
      load_transposed(with_, q, rows, sizes_.d, w.queries, w.row);
    std::fill_n(w.sums, t.rows * width_v, T{0});
    std::fill_n(w.softmax.most, w.columns, -std::numeric_limits<T>::infinity());
    std::fill_n(w.softmax.sum, w.columns, T{0});
    for (std::size_t i = 0; i < rows.size() && !r_.sinks.null(); ++i) {
      w.softmax.most[i] = sink_of(with_, r_.sinks, rows[i].head);
      w.softmax.sum[i] = 1;
    }

    const key_range keys = w.masks.any();
    each_block(keys, [&](std::int64_t first, std::int64_t count) {
      const tile_masks<T> masks = compute_scores(w, first, count);
      with_.soften(w.scores, count, w.columns, masks, w.softmax);
      if (fp8_) return;  // needs the whole sum before probabilities are rounded
      rescale(w);
      if (drops_.any()) drop(w, first, count);
      add_values(w, first, count);
    });
    for (std::int64_t i = 0; i < t.rows; ++i) {
      const T sum = w.softmax.sum[i];
      w.statistic[i] =
          sum == 0 ? -std::numeric_limits<T>::infinity() : w.softmax.most[i] + std::log(sum);
      store_statistic(t.sequence, rows[static_cast<std::size_t>(i)].head,
                      rows[static_cast<std::size_t>(i)].query, w.statistic[i]);
    }
    if (fp8_) {
      std::fill(w.statistic + t.rows, w.statistic + w.columns, T{0});
      each_block(keys, [&](std::int64_t first, std::int64_t count) {
        const tile_masks<T> masks = compute_scores(w, first, count);
        with_.recall(w.scores, count, w.columns, masks, w.statistic);
        if (drops_.any()) drop(w, first, count);
        round_probabilities(w, count, seen);
        add_values(w, first, count);
      });
    }
    store_results(w, seen);
  }

  // Blocks begin at the same keys in every tile, so that a query's result does not depend on the
  // other rows. Blocks that no row attends to are skipped.
  template <class Use>
  static void each_block(const key_range& keys, Use use) {
    for (std::int64_t block = keys.first / block_keys * block_keys; block < keys.last;
         block += block_keys) {
      const std::int64_t first = std::max(block, keys.first);
      use(first, std::min(block + block_keys, keys.last) - first);
    }
  }

  tile_masks<T> compute_scores(workplace& w, std::int64_t first, std::int64_t count) const {
    const auto rows = static_cast<std::int64_t>(w.rows.size());
    const block_of_rows<T> keys =
        rows_as(with_, w.k, w.key_head, first, count, sizes_.d, false, w.keys);
    if (rows <= few_rows) {
      for (std::int64_t j = 0; j < count; ++j)
        std::fill(w.scores + j * tile_rows + rows, w.scores + j * tile_rows + w.columns, T{0});
      with_.dots(keys.at, keys.step, w.queries, padded(sizes_.d), w.scores, count, rows, sizes_.d);
    } else {
      with_.multiply({keys.at, keys.step, 1}, w.queries, tile_rows, w.scores, tile_rows, count,
                     w.columns, sizes_.d, false);
    }
    const tile_masks<T> masks = w.masks.block(first, count);
    terms_.apply(with_, w.sequence, w.rows, first, count, masks, w.scores, nullptr);
    return masks;
  }

  void rescale(workplace& w) const {
    const std::int64_t width = padded(sizes_.d_v);
    for (std::size_t i = 0; i < w.rows.size(); ++i) {
      const T factor = w.softmax.rescale[i];
      if (factor == 1) continue;
      T* const sums = w.sums + static_cast<std::int64_t>(i) * width;
      for (std::int64_t x = 0; x < width; ++x)
        sums[x] *= factor;
    }
  }

  void drop(workplace& w, std::int64_t first, std::int64_t count) const {
    drops_.factors(w.kept, w.sequence, w.rows, first, count);
    for (std::int64_t j = 0; j < count; ++j) {
      for (std::int64_t i = 0; i < w.columns; ++i)
        w.scores[j * tile_rows + i] *= w.kept[j * tile_rows + i];
    }
  }

  void add_values(workplace& w, std::int64_t first, std::int64_t count) const {
    const block_of_rows<T> values =
        rows_as(with_, w.v, w.value_head, first, count, sizes_.d_v, true, w.values);
    const std::int64_t width = padded(sizes_.d_v);
    with_.multiply({w.scores, 1, tile_rows}, values.at, values.step, w.sums, width,
                   static_cast<std::int64_t>(w.rows.size()), width, count, true);
  }

  void round_probabilities(workplace& w, std::int64_t count, largest& seen) const {
    constexpr float most = 448;
    for (std::int64_t j = 0; j < count; ++j) {
      for (std::size_t i = 0; i < w.rows.size(); ++i) {
        T& p = w.scores[j * tile_rows + static_cast<std::int64_t>(i)];
        largest::take(seen.s, static_cast<float>(p));
        const float scaled = static_cast<float>(p) * scales_.probabilities;
        p = static_cast<T>(static_cast<float>(e4m3(scaled > most ? most : scaled)));
      }
    }
  }

  void store_results(workplace& w, largest& seen) const {
    const sequence_rows o = results_of(r_, r_.o).of(w.sequence);
    const std::int64_t width = padded(sizes_.d_v);
    for (std::size_t i = 0; i < w.rows.size(); ++i) {
      T* const sums = w.sums + static_cast<std::int64_t>(i) * width;
      const T sum = w.softmax.sum[i];
      if (fp8_) {
        for (std::int64_t x = 0; x < sizes_.d_v; ++x) {
          sums[x] *= static_cast<T>(scales_.result);
          largest::take(seen.o, static_cast<float>(sums[x]));
          sums[x] *= static_cast<T>(scales_.stored);
        }
      } else if (sum != 0) {
        const T factor = 1 / sum;
        for (std::int64_t x = 0; x < sizes_.d_v; ++x)
          sums[x] *= factor;
      }
      store_row(o.type, o.row(w.rows[i].head, w.rows[i].query), o.stride, sums, sizes_.d_v);
    }
  }

  const dnn::attention_forward& r_;
  const kernels<T>& with_ = kernels<T>::mine();
  dnn::attention_sizes sizes_;
  head_group groups_;
  sequence_lengths lengths_;
  dropping drops_;
  bool fp8_;
  scaling scales_;
  score_terms<T> terms_;
  std::vector<std::int64_t> first_tile_{};  ///< the first of each sequence
  std::int64_t tiles_ = 0;
};

template <class T>
result<void> forward_in(const dnn::attention_forward& r, lane_context& lane) {
  auto lengths = read_lengths(r);
  if (!lengths) return std::move(lengths).error();
  if (lengths->queries.empty()) {
    for (const any_tensor* none : {&r.fp8.amax_s, &r.fp8.amax_o}) {
      if (!none->null()) *none->data<float>() = 0;
    }
    return {};
  }
  return forward_tiles<T>(r, *std::move(lengths)).run(lane);
}

}  // namespace

result<void> forward(const dnn::attention_forward& r, lane_context& lane) {
  return r.q.type() == dtype::f64 ? forward_in<double>(r, lane) : forward_in<float>(r, lane);
}

}  // namespace troupe::cpu::attention
