#pragma once

#include "libraries/dnn/cpu/elements.hpp"
#include "libraries/dnn/requests/rnn_shape.hpp"

#include <troupe/plugin/executor.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace troupe::cpu::rnn {

/// The arithmetic of an element type.
template <class T>
using real_of = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// A layer's records of one direction: rows for each step and sequence, time first. Behind a
/// sequence's end h and c are its final states, and all else is 0.
template <class R>
struct state_records {
  R* gates = nullptr;  ///< [t · b, gates · hidden]; backward: the gradients of their sums
  /// For gru, [t · b, hidden]: the state's part of n's sum; its gradient. If the reset gate comes
  /// first, the state that it leaves, in both passes.
  R* q = nullptr;
  R* c = nullptr;   ///< for lstm, [t · b, hidden]
  R* h = nullptr;   ///< [t · b, output]
  R* u = nullptr;   ///< with a projection, [t · b, hidden]: its input
  R* dh = nullptr;  ///< with a projection, [t · b, output]: the gradient of h
};

/// How the records of all layers and directions lie one behind another: a reserve.
class record_layout {
 public:
  explicit record_layout(const dnn::rnn_shape& s) noexcept : s_(s) {}

  /// Numbers of one layer and direction.
  [[nodiscard]] std::int64_t count() const noexcept {
    const bool lstm = s_.cell == dnn::rnn_cell::lstm;
    const bool gru = s_.cell == dnn::rnn_cell::gru;
    const std::int64_t hidden = s_.gates() + (lstm || gru ? 1 : 0) + (s_.projects ? 1 : 0);
    return s_.rows() * (hidden * s_.hidden + (s_.projects ? 2 : 1) * s_.output);
  }
  template <class R>
  [[nodiscard]] std::int64_t reserve_bytes() const noexcept {
    return s_.states() * count() * static_cast<std::int64_t>(sizeof(R));
  }
  template <class R>
  [[nodiscard]] state_records<R> at(R* first) const noexcept {
    state_records<R> r;
    const auto take = [&](std::int64_t columns) {
      R* const here = first;
      first += s_.rows() * columns;
      return here;
    };
    r.gates = take(s_.gates() * s_.hidden);
    if (s_.cell == dnn::rnn_cell::gru) r.q = take(s_.hidden);
    if (s_.cell == dnn::rnn_cell::lstm) r.c = take(s_.hidden);
    r.h = take(s_.output);
    if (s_.projects) {
      r.u = take(s_.hidden);
      r.dh = take(s_.output);
    }
    return r;
  }

 private:
  dnn::rnn_shape s_;
};

/// Which steps of which sequences there are.
class sequence_ends {
 public:
  explicit sequence_ends(const std::vector<std::int64_t>& lengths) noexcept : lengths_(&lengths) {}

  [[nodiscard]] bool all() const noexcept { return lengths_->empty(); }
  [[nodiscard]] bool has(std::int64_t step, std::int64_t sequence) const noexcept {
    return all() || step < (*lengths_)[static_cast<std::size_t>(sequence)];
  }

 private:
  const std::vector<std::int64_t>* lengths_;
};

/// Sums up scratch memory before it is asked for: a piece is an offset until then.
template <class R>
class scratch {
 public:
  std::int64_t add(std::int64_t count) noexcept {
    constexpr std::int64_t line = 64 / static_cast<std::int64_t>(sizeof(R));
    const std::int64_t here = count_;
    count_ += (count + line - 1) / line * line;
    return here;
  }
  // Products of blas may use the lane's other workspace.
  [[nodiscard]] result<void> take(lane_context& lane) {
    auto memory = lane.host_workspace(static_cast<std::size_t>(std::max<std::int64_t>(count_, 1)) *
                                      sizeof(R));
    if (!memory) return std::move(memory).error();
    base_ = reinterpret_cast<R*>(memory->data());
    return {};
  }
  [[nodiscard]] R* at(std::int64_t piece) const noexcept { return base_ + piece; }

 private:
  std::int64_t count_ = 0;
  R* base_ = nullptr;
};

/// Rows [t, b, width] of an operand as numbers, time first, with 0 behind the ends.
template <class T, class R>
void load_sequences(const any_tensor& from, const sequence_ends& ends, R* to) {
  const std::int64_t width = from.extent(2);
  for (std::int64_t step = 0; step < from.extent(0); ++step) {
    for (std::int64_t n = 0; n < from.extent(1); ++n, to += width) {
      const T* const row = from.data<T>() + step * from.stride(0) + n * from.stride(1);
      if (ends.has(step, n)) {
        std::transform(row, row + width, to, [](T x) { return widened<R>(x); });
      } else {
        std::fill_n(to, width, R{0});
      }
    }
  }
}
/// And back, of rows that lie `row_step` apart.
template <class T, class R>
void store_sequences(const R* from, std::int64_t row_step, const sequence_ends& ends,
                     const any_tensor& to, std::int64_t first, std::int64_t width) {
  for (std::int64_t step = 0; step < to.extent(0); ++step) {
    for (std::int64_t n = 0; n < to.extent(1); ++n, from += row_step) {
      T* const row = to.data<T>() + step * to.stride(0) + n * to.stride(1) + first;
      if (ends.has(step, n)) {
        std::transform(from, from + width, row, [](R x) { return narrowed<T>(x); });
      } else {
        std::fill_n(row, width, T{});
      }
    }
  }
}
/// Packed numbers from `first` on, 0 where the operand is not given.
template <class T, class R>
void load_packed(const any_tensor& from, std::int64_t first, std::int64_t count, R* to) {
  if (from.null()) {
    std::fill_n(to, count, R{0});
    return;
  }
  const T* const at = from.data<T>() + first;
  std::transform(at, at + count, to, [](T x) { return widened<R>(x); });
}
/// Nothing where the operand is not given.
template <class T, class R>
void store_packed(const R* from, std::int64_t count, const any_tensor& to, std::int64_t first) {
  if (to.null()) return;
  std::transform(from, from + count, to.data<T>() + first, [](R x) { return narrowed<T>(x); });
}

/// Copies states that no step changes; they are 0 where not given.
template <class T>
void keep_packed(const any_tensor& from, const any_tensor& to) {
  if (to.null()) return;
  if (from.null()) {
    std::fill_n(to.data<T>(), to.count(), T{});
  } else {
    std::copy_n(from.data<T>(), to.count(), to.data<T>());
  }
}

/// Calls `run` with an element of the type.
template <class Run>
[[nodiscard]] result<void> for_type(dtype type, Run run) {
  switch (type) {
    case dtype::f64:
      return run(double{});
    case dtype::f32:
      return run(float{});
    case dtype::f16:
      return run(f16{});
    default:
      return run(bf16{});
  }
}

}  // namespace troupe::cpu::rnn
