#pragma once

#include "libraries/dnn/cpu/attention/kernels.hpp"
#include "libraries/dnn/cpu/attention/sequences.hpp"

#include <troupe/plugin/executor.hpp>

#include <atomic>
#include <cstddef>
#include <functional>
#include <numeric>
#include <span>
#include <type_traits>

namespace troupe::cpu::attention {

/// Keys of a block.
inline constexpr std::int64_t block_keys = 128;

/// The arithmetic of attention for these types.
template <class T>
using sums_of = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// Hands out parts of a piece of memory, each aligned to a cache line.
class scratch {
 public:
  explicit scratch(std::span<std::byte> all) noexcept : at_(all.data()) {}

  template <class T>
  [[nodiscard]] T* take(std::int64_t count) noexcept {
    auto* const taken = reinterpret_cast<T*>(at_);
    at_ += bytes<T>(count);
    return taken;
  }
  template <class T>
  [[nodiscard]] static std::int64_t bytes(std::int64_t count) noexcept {
    constexpr std::int64_t line = 64;
    return (count * static_cast<std::int64_t>(sizeof(T)) + line - 1) / line * line;
  }

 private:
  std::byte* at_;
};

/// Query heads that share a key head and a value head are computed together: the rows of a tile
/// are (head of the group, query), queries innermost.
struct head_group {
  std::int64_t heads = 1;  ///< query heads of a group
  std::int64_t count = 0;  ///< groups
  std::int64_t per_key_head = 1;
  std::int64_t per_value_head = 1;

  [[nodiscard]] static head_group of(const dnn::attention_sizes& s) noexcept {
    if (s.heads == 0) return {};
    head_group made{.per_key_head = s.heads / s.key_heads,
                    .per_value_head = s.heads / s.value_heads};
    made.heads = std::gcd(made.per_key_head, made.per_value_head);
    made.count = s.heads / made.heads;
    return made;
  }
};

/// One tile: some rows of a group of heads of one sequence.
struct tile {
  std::int64_t sequence = 0;
  std::int64_t group = 0;
  std::int64_t first = 0;  ///< row of the group
  std::int64_t rows = 0;
};

struct tile_row {
  std::int64_t head;
  std::int64_t query;
};

/// The masks of a tile's rows, and of one block of keys in the form that kernels take.
template <class T>
class masked_rows {
 public:
  static std::int64_t bytes() noexcept { return 4 * scratch::bytes<T>(tile_rows); }
  explicit masked_rows(scratch& from)
      : first_(from.take<T>(tile_rows)),
        last_(from.take<T>(tile_rows)),
        slope_(from.take<T>(tile_rows)),
        distance_(from.take<T>(tile_rows)) {}

  /// Takes the ranges of a tile's rows.
  void begin(std::span<const tile_row> rows, const band& masks, std::int64_t heads, bool alibi);
  /// The keys that any row attends to.
  [[nodiscard]] key_range any() const noexcept { return any_; }
  [[nodiscard]] key_range of(std::size_t row) const noexcept { return ranges_[row]; }
  [[nodiscard]] tile_masks<T> block(std::int64_t first_key, std::int64_t keys);

 private:
  std::array<key_range, tile_rows> ranges_{};
  std::array<std::int64_t, tile_rows> centres_{};
  std::size_t rows_ = 0;
  std::int64_t columns_ = 0;
  bool alibi_ = false;
  key_range any_{};
  key_range all_{};
  T* first_;
  T* last_;
  T* slope_;
  T* distance_;
};

/// Dropout of a request's probabilities.
class dropping {
 public:
  template <dnn::attention_request R>
  explicit dropping(const R& r) noexcept
      : seed_(r.dropout.seed),
        offset_(static_cast<std::uint64_t>(r.dropout.offset)),
        probability_(r.dropout.probability),
        sizes_(dnn::sizes_of(r)) {}

  [[nodiscard]] bool any() const noexcept { return probability_ > 0; }
  /// The factors of a block: 0, or 1 / (1 − dropout).
  template <class T>
  void factors(T* to, std::int64_t sequence, std::span<const tile_row> rows, std::int64_t first_key,
               std::int64_t keys) const;

 private:
  std::uint64_t seed_;
  std::uint64_t offset_;
  double probability_;
  dnn::attention_sizes sizes_;
};

/// Makes scores of products: factor, soft cap, ALiBi, bias and boolean mask.
template <class T>
class score_terms {
 public:
  template <dnn::attention_request R>
  score_terms(const R& r, T factor) noexcept
      : factor_(factor),
        cap_(static_cast<T>(r.soft_cap)),
        bias_(&r.bias),
        allowed_(&r.mask.allowed) {}

  [[nodiscard]] bool caps() const noexcept { return cap_ != 0; }
  /// `slopes` receives the derivatives by the products' factor, where it is given and `caps()`.
  void apply(const kernels<T>& with, std::int64_t sequence, std::span<const tile_row> rows,
             std::int64_t first_key, std::int64_t keys, const tile_masks<T>& masks, T* scores,
             T* slopes) const;

 private:
  T factor_;
  T cap_;
  const any_tensor* bias_;
  const any_tensor* allowed_;
};

/// The sink of a head.
template <class T>
[[nodiscard]] T sink_of(const kernels<T>& with, const any_tensor& sinks, std::int64_t head) {
  T sink;
  with.load(&sink, sinks.type(), sinks.address() + head * sinks.stride(0) * size_of(sinks.type()),
            1, 1);
  return sink;
}

/// The rows of a tile.
std::span<const tile_row> rows_of(const tile& t, const head_group& groups, std::int64_t queries,
                                  std::array<tile_row, tile_rows>& workspace) noexcept;

/// Rows of keys or values as kernels take them.
template <class T>
struct block_of_rows {
  const T* at;
  std::int64_t step;
};
/// Rows [first, first + count), converted to `workspace` unless they lie as kernels take them.
/// `whole`: columns must be padded to `lanes`.
template <class T>
[[nodiscard]] block_of_rows<T> rows_as(const kernels<T>& with, const sequence_rows& rows,
                                       std::int64_t head, std::int64_t first, std::int64_t count,
                                       std::int64_t columns, bool whole, T* workspace);
/// The transpose of up to `tile_rows` rows: element k of row i at [k · tile_rows + i], 0 beyond.
template <class T>
void load_transposed(const kernels<T>& with, const sequence_rows& rows,
                     std::span<const tile_row> which, std::int64_t columns, T* to, T* workspace);
/// The rows, `step` apart, 0 beyond `columns`.
template <class T>
void load_rows(const kernels<T>& with, const sequence_rows& rows, std::span<const tile_row> which,
               std::int64_t columns, std::int64_t step, T* to);

/// Stores elements, rounded; e4m3 saturates.
template <class T>
void store_row(dtype type, std::byte* to, std::int64_t stride, const T* from, std::int64_t count);
void zero_row(dtype type, std::byte* to, std::int64_t stride, std::int64_t count);

/// Calls `run(task, thread)` for every task, on as many threads as `work`, a number of products,
/// is worth.
[[nodiscard]] int threads_for(std::int64_t tasks, double work) noexcept;
void in_parallel(int threads, std::int64_t tasks,
                 const std::function<void(std::int64_t task, int thread)>& run);

}  // namespace troupe::cpu::attention
