#include "libraries/dnn/cpu/attention/passes.hpp"
#include "libraries/dnn/cpu/attention/tiles.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

// Source: Dao et al., "FlashAttention: Fast and Memory-Efficient Exact Attention with
// IO-Awareness", 2022, algorithm 4.
namespace troupe::cpu::attention {
namespace {

/// The gradients of the keys and values of some heads of one sequence, summed by one thread: for
/// all heads that share any.
struct unit {
  std::int64_t sequence;
  std::int64_t number;  ///< among the units of the sequence
};

template <class T>
class backward_units {
 public:
  backward_units(const dnn::attention_backward& r, sequence_lengths lengths)
      : r_(r),
        sizes_(dnn::sizes_of(r)),
        groups_(head_group::of(sizes_)),
        lengths_(std::move(lengths)),
        drops_(r),
        factor_(static_cast<T>(dnn::scale_of(r))),
        terms_(r, factor_) {
    per_sequence_ = sizes_.heads == 0 ? 0 : std::gcd(sizes_.key_heads, sizes_.value_heads);
    if (per_sequence_ == 0) return;
    key_heads_ = sizes_.key_heads / per_sequence_;
    value_heads_ = sizes_.value_heads / per_sequence_;
    for (const std::int64_t keys : lengths_.keys)
      most_keys_ = std::max(most_keys_, keys);
  }

  result<void> run(lane_context& lane) {
    clear_the_rest();
    const std::int64_t units = sizes_.batch * per_sequence_;
    const double work =
        2.5 * static_cast<double>(sizes_.scores()) * static_cast<double>(sizes_.d + sizes_.d_v);
    // If a gradient of bias is a sum over units, one thread adds it up, in their order.
    const bool sums_bias = !r_.dbias.null() &&
                           (r_.dbias.extent(0) < sizes_.batch || r_.dbias.extent(1) < sizes_.heads);
    const int threads = sums_bias ? 1 : threads_for(units, work);
    const std::int64_t bias_bytes = r_.dbias.null() ? 0 : scratch::bytes<T>(r_.dbias.count());
    const std::int64_t sinks = r_.dsinks.null() ? 0 : sizes_.batch * sizes_.heads;
    const std::int64_t sums_bytes = bias_bytes + scratch::bytes<T>(sinks);
    const std::int64_t each = scratch_bytes();
    auto memory = lane.workspace(static_cast<std::size_t>(sums_bytes + each * threads));
    if (!memory) return std::move(memory).error();
    bias_sums_ = r_.dbias.null() ? nullptr : reinterpret_cast<T*>(memory->data());
    if (bias_sums_ != nullptr) std::fill_n(bias_sums_, r_.dbias.count(), T{0});
    sink_sums_ = sinks == 0
                     ? nullptr
                     : reinterpret_cast<T*>(memory->data() + static_cast<std::size_t>(bias_bytes));
    std::fill_n(sink_sums_, sinks, T{0});
    in_parallel(threads, units, [&](std::int64_t task, int thread) {
      run_unit({task / per_sequence_, task % per_sequence_},
               memory->subspan(static_cast<std::size_t>(sums_bytes + each * thread)));
    });
    if (bias_sums_ != nullptr) store_bias();
    for (std::int64_t head = 0; head < sizes_.heads && !r_.dsinks.null(); ++head)
      store_sink(head);
    return {};
  }

 private:
  [[nodiscard]] std::int64_t scratch_bytes() const noexcept {
    const std::int64_t width = padded(sizes_.d);
    const std::int64_t width_v = padded(sizes_.d_v);
    const auto bytes = scratch::bytes<T>;
    return bytes(key_heads_ * most_keys_ * width) + bytes(value_heads_ * most_keys_ * width_v) +
           3 * bytes(tile_rows * width) + 3 * bytes(tile_rows * width_v) +
           bytes(std::max(width, width_v)) +
           (terms_.caps() ? 5 : 4) * bytes(block_keys * tile_rows) + bytes(block_keys * width) +
           bytes(block_keys * width_v) + 2 * bytes(tile_rows) + masked_rows<T>::bytes();
  }

  /// The state of one thread.
  struct workplace {
    sequence_rows q, k, v, o, d_o, d_q;
    std::int64_t sequence;
    T* key_sums;    ///< gradients of the unit's keys, head by head
    T* value_sums;  ///< and of its values
    T* q_across;    ///< a tile of queries, transposed
    T* q_rows;
    T* d_q_sums;
    T* d_o_across;
    T* d_o_rows;
    T* o_rows;
    T* row;
    T* scores;
    T* gradients;
    T* kept;
    T* dropped;
    T* slopes;  ///< derivatives of a soft cap
    T* keys;
    T* values;
    T* statistic;
    T* delta;
    masked_rows<T> masks;
  };

  void run_unit(const unit& u, std::span<std::byte> memory) const {
    const auto n = static_cast<std::size_t>(u.sequence);
    const std::int64_t width = padded(sizes_.d);
    const std::int64_t width_v = padded(sizes_.d_v);
    scratch from(memory);
    workplace w{.q = queries_of(r_, r_.q).of(u.sequence),
                .k = keys_of(r_, r_.k).of(u.sequence),
                .v = values_of(r_, r_.v).of(u.sequence),
                .o = results_of(r_, r_.o).of(u.sequence),
                .d_o = results_of(r_, r_.dout).of(u.sequence),
                .d_q = queries_of(r_, r_.dq).of(u.sequence),
                .sequence = u.sequence,
                .key_sums = from.take<T>(key_heads_ * most_keys_ * width),
                .value_sums = from.take<T>(value_heads_ * most_keys_ * width_v),
                .q_across = from.take<T>(tile_rows * width),
                .q_rows = from.take<T>(tile_rows * width),
                .d_q_sums = from.take<T>(tile_rows * width),
                .d_o_across = from.take<T>(tile_rows * width_v),
                .d_o_rows = from.take<T>(tile_rows * width_v),
                .o_rows = from.take<T>(tile_rows * width_v),
                .row = from.take<T>(std::max(width, width_v)),
                .scores = from.take<T>(block_keys * tile_rows),
                .gradients = from.take<T>(block_keys * tile_rows),
                .kept = from.take<T>(block_keys * tile_rows),
                .dropped = from.take<T>(block_keys * tile_rows),
                .slopes = from.take<T>(terms_.caps() ? block_keys * tile_rows : 0),
                .keys = from.take<T>(block_keys * width),
                .values = from.take<T>(block_keys * width_v),
                .statistic = from.take<T>(tile_rows),
                .delta = from.take<T>(tile_rows),
                .masks = masked_rows<T>(from)};
    const std::int64_t keys = lengths_.keys[n];
    std::fill_n(w.key_sums, key_heads_ * keys * width, T{0});
    std::fill_n(w.value_sums, value_heads_ * keys * width_v, T{0});
    const std::int64_t queries = lengths_.queries[n];
    const std::int64_t groups = groups_.count / per_sequence_;
    for (std::int64_t g = 0; g < groups; ++g) {
      const std::int64_t rows = groups_.heads * queries;
      for (std::int64_t first = 0; first < rows; first += tile_rows) {
        run_tile({.sequence = u.sequence,
                  .group = u.number * groups + g,
                  .first = first,
                  .rows = std::min(tile_rows, rows - first)},
                 u, w);
      }
    }
    store_sums(keys_of(r_, r_.dk).of(u.sequence), u.number * key_heads_, key_heads_, keys, sizes_.d,
               w.key_sums);
    store_sums(values_of(r_, r_.dv).of(u.sequence), u.number * value_heads_, value_heads_, keys,
               sizes_.d_v, w.value_sums);
  }

  static void store_sums(const sequence_rows& to, std::int64_t first_head, std::int64_t heads,
                         std::int64_t rows, std::int64_t columns, const T* sums) {
    for (std::int64_t head = 0; head < heads; ++head) {
      for (std::int64_t j = 0; j < rows; ++j, sums += padded(columns))
        store_row(to.type, to.row(first_head + head, j), to.stride, sums, columns);
    }
  }

  void run_tile(const tile& t, const unit& u, workplace& w) const {
    const auto n = static_cast<std::size_t>(t.sequence);
    std::array<tile_row, tile_rows> workspace;
    const auto rows = rows_of(t, groups_, lengths_.queries[n], workspace);
    const std::int64_t columns = padded(t.rows);
    const std::int64_t width = padded(sizes_.d);
    const std::int64_t width_v = padded(sizes_.d_v);
    const std::int64_t key_head = rows.front().head / groups_.per_key_head;
    const std::int64_t value_head = rows.front().head / groups_.per_value_head;
    T* const key_sums = w.key_sums + (key_head - u.number * key_heads_) * lengths_.keys[n] * width;
    T* const value_sums =
        w.value_sums + (value_head - u.number * value_heads_) * lengths_.keys[n] * width_v;
    begin_tile(rows, n, w);

    const key_range keys = w.masks.any();
    for (std::int64_t first = keys.first; first < keys.last; first += block_keys) {
      const std::int64_t count = std::min(block_keys, keys.last - first);
      const block_of_rows<T> k =
          rows_as(with_, w.k, key_head, first, count, sizes_.d, true, w.keys);
      const block_of_rows<T> v =
          rows_as(with_, w.v, value_head, first, count, sizes_.d_v, false, w.values);
      with_.multiply({k.at, k.step, 1}, w.q_across, tile_rows, w.scores, tile_rows, count, columns,
                     sizes_.d, false);
      const tile_masks<T> masks = w.masks.block(first, count);
      terms_.apply(with_, w.sequence, rows, first, count, masks, w.scores, w.slopes);
      with_.recall(w.scores, count, columns, masks, w.statistic);
      with_.multiply({v.at, v.step, 1}, w.d_o_across, tile_rows, w.gradients, tile_rows, count,
                     columns, sizes_.d_v, false);
      const T* p_of_values = w.scores;
      if (drops_.any()) {
        drops_.factors(w.kept, w.sequence, rows, first, count);
        for (std::int64_t at = 0; at < count * tile_rows; ++at)
          w.dropped[at] = w.scores[at] * w.kept[at];
        p_of_values = w.dropped;
      }
      with_.multiply({p_of_values, tile_rows, 1}, w.d_o_rows, width_v, value_sums + first * width_v,
                     width_v, count, width_v, t.rows, true);
      with_.differentiate(w.gradients, w.scores, drops_.any() ? w.kept : nullptr, w.delta, count,
                          columns);
      if (bias_sums_ != nullptr) add_to_bias(rows, first, count, w);
      for (std::int64_t at = 0; at < count * tile_rows && terms_.caps(); ++at)
        w.gradients[at] *= w.slopes[at];
      with_.multiply({w.gradients, 1, tile_rows}, k.at, k.step, w.d_q_sums, width, t.rows, width,
                     count, true);
      with_.multiply({w.gradients, tile_rows, 1}, w.q_rows, width, key_sums + first * width, width,
                     count, width, t.rows, true);
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      T* const sums = w.d_q_sums + static_cast<std::int64_t>(i) * width;
      for (std::int64_t x = 0; x < sizes_.d; ++x)
        sums[x] *= factor_;
      store_row(w.d_q.type, w.d_q.row(rows[i].head, rows[i].query), w.d_q.stride, sums, sizes_.d);
    }
  }

  /// Loads what does not depend on keys. Queries are scaled, as the gradient of keys needs them.
  void begin_tile(std::span<const tile_row> rows, std::size_t n, workplace& w) const {
    const std::int64_t width = padded(sizes_.d);
    const std::int64_t width_v = padded(sizes_.d_v);
    const auto count = static_cast<std::int64_t>(rows.size());
    w.masks.begin(rows, band_of(r_, lengths_.queries[n], lengths_.keys[n]), sizes_.heads, r_.alibi);
    load_transposed(with_, w.q, rows, sizes_.d, w.q_across, w.row);
    load_rows(with_, w.q, rows, sizes_.d, width, w.q_rows);
    for (std::int64_t at = 0; at < count * width; ++at)
      w.q_rows[at] *= factor_;
    load_transposed(with_, w.d_o, rows, sizes_.d_v, w.d_o_across, w.row);
    load_rows(with_, w.d_o, rows, sizes_.d_v, width_v, w.d_o_rows);
    load_rows(with_, w.o, rows, sizes_.d_v, width_v, w.o_rows);
    std::fill_n(w.d_q_sums, count * width, T{0});
    const any_tensor& s = r_.statistics;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const std::int64_t place =
          w.sequence * s.stride(0) + rows[i].head * s.stride(1) + rows[i].query * s.stride(2);
      with_.load(w.statistic + i, s.type(), s.address() + place * size_of(s.type()), 1, 1);
      w.delta[i] = std::inner_product(w.o_rows + at * width_v, w.o_rows + (at + 1) * width_v,
                                      w.d_o_rows + at * width_v, T{0});
      if (sink_sums_ != nullptr) add_to_sink(w.sequence, rows[i].head, w.statistic[i], w.delta[i]);
    }
    for (auto i = count; i < padded(count); ++i)
      w.statistic[i] = w.delta[i] = 0;
  }

  // The sink's probability has no value, so its gradient is that of all others, negated.
  void add_to_sink(std::int64_t sequence, std::int64_t head, T statistic, T delta) const {
    if (statistic == -std::numeric_limits<T>::infinity()) return;
    const T probability = std::exp(sink_of(with_, r_.sinks, head) - statistic);
    sink_sums_[sequence * sizes_.heads + head] -= probability * delta;
  }

  void store_sink(std::int64_t head) const {
    T sum = 0;
    for (std::int64_t n = 0; n < sizes_.batch; ++n)
      sum += sink_sums_[n * sizes_.heads + head];
    const any_tensor& to = r_.dsinks;
    store_row(to.type(), to.address() + head * to.stride(0) * size_of(to.type()), 1, &sum, 1);
  }

  void add_to_bias(std::span<const tile_row> rows, std::int64_t first, std::int64_t count,
                   const workplace& w) const {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::int64_t b = r_.dbias.extent(0) == 1 ? 0 : w.sequence;
      const std::int64_t head = r_.dbias.extent(1) == 1 ? 0 : rows[i].head;
      T* const sums = bias_sums_ +
                      ((b * r_.dbias.extent(1) + head) * sizes_.s_q + rows[i].query) * sizes_.s_kv +
                      first;
      for (std::int64_t j = 0; j < count; ++j)
        sums[j] += w.gradients[j * tile_rows + static_cast<std::int64_t>(i)];
    }
  }

  void store_bias() const {
    const any_tensor& to = r_.dbias;
    const T* sums = bias_sums_;
    for (std::int64_t b = 0; b < to.extent(0); ++b) {
      for (std::int64_t head = 0; head < to.extent(1); ++head) {
        for (std::int64_t i = 0; i < to.extent(2); ++i, sums += to.extent(3)) {
          const std::int64_t place = b * to.stride(0) + head * to.stride(1) + i * to.stride(2);
          store_row(to.type(), to.address() + place * size_of(to.type()), to.stride(3), sums,
                    to.extent(3));
        }
      }
    }
  }

  /// Queries and keys beyond the lengths.
  void clear_the_rest() const {
    const auto clear = [&](const layout_of_sequences& layout, std::int64_t heads,
                           const std::vector<std::int64_t>& lengths, std::int64_t all,
                           std::int64_t columns) {
      for (std::int64_t n = 0; n < sizes_.batch; ++n) {
        const sequence_rows to = layout.of(n);
        const std::int64_t length = lengths[static_cast<std::size_t>(n)];
        // Without query heads nothing attends to any key.
        const std::int64_t first = sizes_.heads == 0 ? 0 : length;
        for (std::int64_t head = 0; head < heads; ++head) {
          for (std::int64_t i = first; i < (layout.packed ? length : all); ++i)
            zero_row(to.type, to.row(head, i), to.stride, columns);
        }
      }
    };
    clear(queries_of(r_, r_.dq), sizes_.heads, lengths_.queries, sizes_.s_q, sizes_.d);
    clear(keys_of(r_, r_.dk), sizes_.key_heads, lengths_.keys, sizes_.s_kv, sizes_.d);
    clear(values_of(r_, r_.dv), sizes_.value_heads, lengths_.keys, sizes_.s_kv, sizes_.d_v);
  }

  const dnn::attention_backward& r_;
  const kernels<T>& with_ = kernels<T>::mine();
  dnn::attention_sizes sizes_;
  head_group groups_;
  sequence_lengths lengths_;
  dropping drops_;
  T factor_;
  score_terms<T> terms_;
  std::int64_t per_sequence_ = 0;  ///< units
  std::int64_t key_heads_ = 0;     ///< of a unit
  std::int64_t value_heads_ = 0;
  std::int64_t most_keys_ = 0;
  T* bias_sums_ = nullptr;
  T* sink_sums_ = nullptr;  ///< [b, h]
};

template <class T>
result<void> backward_in(const dnn::attention_backward& r, lane_context& lane) {
  auto lengths = read_lengths(r);
  if (!lengths) return std::move(lengths).error();
  return backward_units<T>(r, *std::move(lengths)).run(lane);
}

}  // namespace

result<void> backward(const dnn::attention_backward& r, lane_context& lane) {
  return r.q.type() == dtype::f64 ? backward_in<double>(r, lane) : backward_in<float>(r, lane);
}

}  // namespace troupe::cpu::attention
