#include "libraries/dnn/cpu/attention/tiles.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <system_error>
#include <thread>
#include <vector>

namespace troupe::cpu::attention {

template <class T>
void masked_rows<T>::begin(std::span<const tile_row> rows, const band& masks, std::int64_t heads,
                           bool alibi) {
  rows_ = rows.size();
  columns_ = padded(static_cast<std::int64_t>(rows_));
  alibi_ = alibi;
  any_ = {masks.keys, 0};
  all_ = {0, masks.keys};
  for (std::size_t i = 0; i < rows_; ++i) {
    ranges_[i] = masks.of_query(rows[i].query);
    centres_[i] = rows[i].query + masks.shift;
    if (alibi) slope_[i] = static_cast<T>(std::exp2(dnn::alibi_exponent(rows[i].head, heads)));
    all_ = {std::max(all_.first, ranges_[i].first), std::min(all_.last, ranges_[i].last)};
    if (ranges_[i].first == ranges_[i].last) continue;
    any_ = {std::min(any_.first, ranges_[i].first), std::max(any_.last, ranges_[i].last)};
  }
  for (auto i = rows_; i < static_cast<std::size_t>(columns_); ++i)
    slope_[i] = distance_[i] = 0;
}

template <class T>
tile_masks<T> masked_rows<T>::block(std::int64_t first_key, std::int64_t keys) {
  // Columns beyond the rows are computed, but never read.
  const bool whole = all_.first <= first_key && first_key + keys <= all_.last;
  for (std::size_t i = 0; i < rows_; ++i) {
    const auto counted = [&](std::int64_t key) {
      return static_cast<T>(std::clamp<std::int64_t>(key - first_key, 0, keys));
    };
    first_[i] = counted(ranges_[i].first);
    last_[i] = counted(ranges_[i].last);
    if (alibi_) distance_[i] = static_cast<T>(first_key - centres_[i]);
  }
  for (auto i = rows_; i < static_cast<std::size_t>(columns_); ++i)
    first_[i] = last_[i] = 0;
  return {.first = first_,
          .last = last_,
          .whole = whole,
          .slope = alibi_ ? slope_ : nullptr,
          .distance = distance_};
}

template <class T>
void dropping::factors(T* to, std::int64_t sequence, std::span<const tile_row> rows,
                       std::int64_t first_key, std::int64_t keys) const {
  const std::uint64_t threshold = dnn::dropout_threshold(probability_);
  const T factor = static_cast<T>(1 / (1 - probability_));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = static_cast<std::uint64_t>(
        (sequence * sizes_.heads + rows[i].head) * sizes_.s_q + rows[i].query);
    dnn::drawn_words drawn(seed_, offset_ + row * static_cast<std::uint64_t>(sizes_.s_kv) +
                                      static_cast<std::uint64_t>(first_key));
    for (std::int64_t j = 0; j < keys; ++j)
      to[j * tile_rows + static_cast<std::int64_t>(i)] = drawn.next() >= threshold ? factor : T{0};
  }
  const auto columns = padded(static_cast<std::int64_t>(rows.size()));
  for (std::int64_t j = 0; j < keys; ++j) {
    for (auto i = static_cast<std::int64_t>(rows.size()); i < columns; ++i)
      to[j * tile_rows + i] = 0;
  }
}

namespace {

/// The row of a tensor [1 or b, 1 or h, 1 or s_q, s_kv] from a key on.
std::byte* row_of_scores(const any_tensor& t, std::int64_t sequence, const tile_row& row,
                         std::int64_t first_key) {
  const auto step = [&](int dimension, std::int64_t number) {
    return t.extent(dimension) == 1 ? 0 : number * t.stride(dimension);
  };
  return t.address() +
         (step(0, sequence) + step(1, row.head) + step(2, row.query) + first_key * t.stride(3)) *
             size_of(t.type());
}

}  // namespace

template <class T>
void score_terms<T>::apply(const kernels<T>& with, std::int64_t sequence,
                           std::span<const tile_row> rows, std::int64_t first_key,
                           std::int64_t keys, const tile_masks<T>& masks, T* scores,
                           T* slopes) const {
  const std::int64_t columns = padded(static_cast<std::int64_t>(rows.size()));
  if (caps()) {
    tile_masks<T> without_slope = masks;
    without_slope.slope = nullptr;
    with.scale(scores, keys, columns, factor_, without_slope);
    with.cap(scores, keys, columns, cap_, slopes);
    if (masks.slope != nullptr) with.scale(scores, keys, columns, T{1}, masks);
  } else {
    with.scale(scores, keys, columns, factor_, masks);
  }
  std::array<T, block_keys> values;
  for (std::size_t i = 0; i < rows.size() && !bias_->null(); ++i) {
    with.load(values.data(), bias_->type(), row_of_scores(*bias_, sequence, rows[i], first_key),
              bias_->stride(3), keys);
    for (std::int64_t j = 0; j < keys; ++j)
      scores[j * tile_rows + static_cast<std::int64_t>(i)] += values[static_cast<std::size_t>(j)];
  }
  for (std::size_t i = 0; i < rows.size() && !allowed_->null(); ++i) {
    const std::byte* const allowed = row_of_scores(*allowed_, sequence, rows[i], first_key);
    for (std::int64_t j = 0; j < keys; ++j) {
      if (allowed[j * allowed_->stride(3)] == std::byte{0})
        scores[j * tile_rows + static_cast<std::int64_t>(i)] = -std::numeric_limits<T>::infinity();
    }
  }
}

std::span<const tile_row> rows_of(const tile& t, const head_group& groups, std::int64_t queries,
                                  std::array<tile_row, tile_rows>& workspace) noexcept {
  for (std::int64_t i = 0; i < t.rows; ++i) {
    const std::int64_t row = t.first + i;
    workspace[static_cast<std::size_t>(i)] = {t.group * groups.heads + row / queries,
                                              row % queries};
  }
  return {workspace.data(), static_cast<std::size_t>(t.rows)};
}

template <class T>
block_of_rows<T> rows_as(const kernels<T>& with, const sequence_rows& rows, std::int64_t head,
                         std::int64_t first, std::int64_t count, std::int64_t columns, bool whole,
                         T* workspace) {
  constexpr auto size = static_cast<std::int64_t>(sizeof(T));
  const bool fits = rows.type == dtype_of<T> && rows.stride == 1 && rows.even() &&
                    rows.row_step % size == 0 && (!whole || columns % lanes == 0);
  if (fits) {
    return {reinterpret_cast<const T*>(rows.row(head, first)), rows.row_step / size};
  }
  const std::int64_t step = padded(columns);
  for (std::int64_t j = 0; j < count; ++j) {
    T* const to = workspace + j * step;
    with.load(to, rows.type, rows.row(head, first + j), rows.stride, columns);
    std::fill(to + columns, to + step, T{0});
  }
  return {workspace, step};
}

template <class T>
void load_rows(const kernels<T>& with, const sequence_rows& rows, std::span<const tile_row> which,
               std::int64_t columns, std::int64_t step, T* to) {
  for (const tile_row& one : which) {
    with.load(to, rows.type, rows.row(one.head, one.query), rows.stride, columns);
    std::fill(to + columns, to + step, T{0});
    to += step;
  }
}

template <class T>
void load_transposed(const kernels<T>& with, const sequence_rows& rows,
                     std::span<const tile_row> which, std::int64_t columns, T* to, T* workspace) {
  const auto width = padded(static_cast<std::int64_t>(which.size()));
  for (std::size_t i = 0; i < which.size(); ++i) {
    with.load(workspace, rows.type, rows.row(which[i].head, which[i].query), rows.stride, columns);
    for (std::int64_t k = 0; k < columns; ++k)
      to[k * tile_rows + static_cast<std::int64_t>(i)] = workspace[k];
  }
  for (std::int64_t k = 0; k < columns; ++k) {
    for (auto i = static_cast<std::int64_t>(which.size()); i < width; ++i)
      to[k * tile_rows + i] = 0;
  }
}

namespace {

template <class To, class T>
void store_as(std::byte* to, std::int64_t stride, const T* from, std::int64_t count) {
  auto* const y = reinterpret_cast<To*>(to);
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<To, e4m3>) {
      // NaN stays one.
      constexpr float most = 448;
      const auto x = static_cast<float>(from[i]);
      y[i * stride] = To(x > most ? most : x < -most ? -most : x);
    } else if constexpr (std::is_floating_point_v<To>) {
      y[i * stride] = static_cast<To>(from[i]);
    } else {
      y[i * stride] = To(static_cast<float>(from[i]));
    }
  }
}

// Fewer products are done sooner by one thread.
constexpr double work_per_thread = 1 << 20;

}  // namespace

template <class T>
void store_row(dtype type, std::byte* to, std::int64_t stride, const T* from, std::int64_t count) {
  if (type == dtype::f64) return store_as<double>(to, stride, from, count);
  if (type == dtype::f32) return store_as<float>(to, stride, from, count);
  if (type == dtype::f16) return store_as<f16>(to, stride, from, count);
  if (type == dtype::bf16) return store_as<bf16>(to, stride, from, count);
  store_as<e4m3>(to, stride, from, count);
}

void zero_row(dtype type, std::byte* to, std::int64_t stride, std::int64_t count) {
  const std::int64_t size = size_of(type);
  if (stride == 1) {
    std::memset(to, 0, static_cast<std::size_t>(count * size));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i)
    std::memset(to + i * stride * size, 0, static_cast<std::size_t>(size));
}

int threads_for(std::int64_t tasks, double work) noexcept {
  const auto processors =
      std::max<std::int64_t>(static_cast<std::int64_t>(std::thread::hardware_concurrency()), 1);
  const auto worth = static_cast<std::int64_t>(std::min(work / work_per_thread, 1e6));
  return static_cast<int>(std::clamp<std::int64_t>(std::min(worth, tasks), 1, processors));
}

void in_parallel(int threads, std::int64_t tasks,
                 const std::function<void(std::int64_t task, int thread)>& run) {
  std::atomic<std::int64_t> next{0};
  const auto take = [&](int thread) {
    for (std::int64_t task = next++; task < tasks; task = next++)
      run(task, thread);
  };
  std::vector<std::jthread> others;
  try {
    for (int i = 1; i < threads; ++i)
      others.emplace_back(take, i);
  } catch (const std::system_error&) {
    // Those that have started take all tasks, with this one.
  }
  take(0);
}

template class masked_rows<float>;
template class masked_rows<double>;
template class score_terms<float>;
template class score_terms<double>;
// NOLINTBEGIN(bugprone-macro-parentheses): a type cannot have any.
#define TROUPE_INSTANTIATE(T)                                                                 \
  template void dropping::factors(T*, std::int64_t, std::span<const tile_row>, std::int64_t,  \
                                  std::int64_t) const;                                        \
  template block_of_rows<T> rows_as(const kernels<T>&, const sequence_rows&, std::int64_t,    \
                                    std::int64_t, std::int64_t, std::int64_t, bool, T*);      \
  template void load_rows(const kernels<T>&, const sequence_rows&, std::span<const tile_row>, \
                          std::int64_t, std::int64_t, T*);                                    \
  template void load_transposed(const kernels<T>&, const sequence_rows&,                      \
                                std::span<const tile_row>, std::int64_t, T*, T*);             \
  template void store_row(dtype, std::byte*, std::int64_t, const T*, std::int64_t);
TROUPE_INSTANTIATE(float)
TROUPE_INSTANTIATE(double)
#undef TROUPE_INSTANTIATE
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace troupe::cpu::attention
