#pragma once

#include "libraries/dnn/cpu/rnn/factor.hpp"
#include "libraries/dnn/cpu/rnn/sequences.hpp"
#include "libraries/memory/shared/share_out.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace troupe::cpu::rnn {

/// Offsets of the weights of one layer and direction.
struct weight_places {
  std::int64_t w_x = 0, w_h = 0, w_p = 0, b_x = 0, b_h = 0;
};

[[nodiscard]] std::vector<weight_places> places_of(const dnn::rnn_network& network,
                                                   std::int64_t input);

/// The common part of all passes over a network.
template <class R>
class network {
 public:
  network(const dnn::rnn_network& options, const dnn::rnn_shape& s,
          const std::vector<std::int64_t>& lengths)
      : options_(&options), s_(s), ends_(lengths), places_(places_of(options, s.input)) {}

  [[nodiscard]] const dnn::rnn_shape& sizes() const noexcept { return s_; }
  [[nodiscard]] const sequence_ends& ends() const noexcept { return ends_; }
  [[nodiscard]] const weight_places& places(std::int64_t state) const noexcept {
    return places_[static_cast<std::size_t>(state)];
  }
  /// The step that direction `direction` takes as its k-th, and the one before it; −1: none.
  [[nodiscard]] std::int64_t step(std::int64_t direction, std::int64_t k) const noexcept {
    return direction == 0 ? k : s_.steps - 1 - k;
  }
  [[nodiscard]] std::int64_t step_before(std::int64_t direction, std::int64_t k) const noexcept {
    return k == 0 ? -1 : step(direction, k - 1);
  }

  /// Numbers of the largest factor by W_x, in either direction.
  [[nodiscard]] std::int64_t largest_input_factor(std::int64_t columns) const noexcept {
    const std::int64_t widest = std::max(s_.input, s_.layers > 1 ? s_.width() : 0);
    return std::max(factor<R>(widest, columns).count(), factor<R>(columns, widest).count());
  }

  /// Runs all steps of one layer: `run(direction, first, last)` for ranges of sequences, which are
  /// independent of each other, in several threads if there is enough work.
  template <class Run>
  void share_sequences(Run run) const {
    const std::int64_t products = s_.rows() * s_.directions * s_.gates() * s_.hidden * s_.output;
    const std::int64_t threads = threads_for(s_.directions * s_.batch, products, least);
    const std::int64_t parts = (threads + s_.directions - 1) / s_.directions;
    const std::int64_t each = (s_.batch + parts - 1) / parts;
    share_out(threads, s_.directions * parts, [&](std::int64_t, std::int64_t task) {
      const std::int64_t first = task % parts * each;
      run(task / parts, first, std::min(first + each, s_.batch));
    });
  }

  /// Runs what is done for all rows of a layer, `run(first, last)` for ranges of them, likewise.
  template <class Run>
  void share_rows(std::int64_t layer, Run run) const {
    constexpr std::int64_t each = 96;  // a multiple of what kernels take
    const std::int64_t tasks = (s_.rows() + each - 1) / each;
    const std::int64_t products = s_.rows() * s_.gates() * s_.hidden * s_.input_of(layer);
    share_out(threads_for(tasks, products, least), tasks, [&](std::int64_t, std::int64_t task) {
      run(task * each, std::min((task + 1) * each, s_.rows()));
    });
  }

  /// The input of a layer above the first one, from the records of the one below. `drops`: in
  /// training.
  void join(std::int64_t layer_below, const std::array<state_records<R>, 2>& below, bool drops,
            R* to) const;
  /// Multiplies gradients of the same by what dropout multiplied it by.
  void drop(std::int64_t layer_below, R* rows) const;

 private:
  // The least work for a thread, in products.
  static constexpr std::int64_t least = std::int64_t{1} << 21;

  const dnn::rnn_network* options_;
  dnn::rnn_shape s_;
  sequence_ends ends_;
  std::vector<weight_places> places_;
};

extern template class network<float>;
extern template class network<double>;

}  // namespace troupe::cpu::rnn
