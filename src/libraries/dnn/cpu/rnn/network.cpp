#include "libraries/dnn/cpu/rnn/network.hpp"

#include "libraries/rng/shared/philox.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::cpu::rnn {

std::vector<weight_places> places_of(const dnn::rnn_network& network, std::int64_t input) {
  const std::int64_t directions = dnn::directions_of(network);
  std::vector<weight_places> all(static_cast<std::size_t>(network.layers * directions));
  for (const dnn::rnn_parameter& p : dnn::rnn_parameters(network, input)) {
    weight_places& of = all[static_cast<std::size_t>(p.layer * directions + p.direction)];
    switch (p.role) {
      case dnn::rnn_role::input_weight:
        of.w_x = p.offset;
        break;
      case dnn::rnn_role::hidden_weight:
        of.w_h = p.offset;
        break;
      case dnn::rnn_role::projection_weight:
        of.w_p = p.offset;
        break;
      case dnn::rnn_role::input_bias:
        of.b_x = p.offset;
        break;
      case dnn::rnn_role::hidden_bias:
        of.b_h = p.offset;
        break;
    }
  }
  return all;
}

template <class R>
void network<R>::join(std::int64_t layer_below, const std::array<state_records<R>, 2>& below,
                      bool drops, R* to) const {
  R* row = to;
  for (std::int64_t step = 0; step < s_.steps; ++step) {
    for (std::int64_t n = 0; n < s_.batch; ++n) {
      for (std::int64_t k = 0; k < s_.directions; ++k, row += s_.output) {
        const R* const h = below[static_cast<std::size_t>(k)].h + (step * s_.batch + n) * s_.output;
        if (ends_.has(step, n)) {
          std::copy_n(h, s_.output, row);
        } else {
          std::fill_n(row, s_.output, R{0});
        }
      }
    }
  }
  if (drops) drop(layer_below, to);
}

template <class R>
void network<R>::drop(std::int64_t layer_below, R* rows) const {
  if (!dnn::drops(*options_)) return;
  const auto threshold = static_cast<std::uint64_t>(std::ceil(std::ldexp(options_->dropout, 32)));
  const auto factor = static_cast<R>(1 / (1 - options_->dropout));
  const std::int64_t count = s_.rows() * s_.width();
  auto word = static_cast<std::uint64_t>(options_->offset + layer_below * count);
  rng::words<4> drawn = rng::philox_block(options_->seed, 0, word / 4);
  for (std::int64_t i = 0; i < count; ++i, ++word) {
    if (i > 0 && word % 4 == 0) drawn = rng::philox_block(options_->seed, 0, word / 4);
    rows[i] = drawn.word[word % 4] >= threshold ? rows[i] * factor : R{0};
  }
}

template class network<float>;
template class network<double>;

}  // namespace troupe::cpu::rnn
