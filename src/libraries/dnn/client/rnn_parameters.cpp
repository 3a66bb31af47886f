#include "libraries/dnn/requests/rnn_shape.hpp"

#include <troupe/dnn/rnn.hpp>

namespace troupe::dnn {

std::vector<rnn_parameter> rnn_parameters(const rnn_network& network, std::int64_t input) {
  const rnn_shape s = rnn_shape::of(network, 0, 0, input);
  const std::int64_t rows = s.gates() * s.hidden;
  std::vector<rnn_parameter> all;
  std::int64_t offset = 0;
  const auto each_state = [&](auto add) {
    for (std::int64_t layer = 0; layer < s.layers; ++layer) {
      for (std::int64_t direction = 0; direction < s.directions; ++direction) {
        add(
            [&](rnn_role role, std::int64_t of_rows, std::int64_t columns) {
              all.push_back({.layer = layer,
                             .direction = direction,
                             .role = role,
                             .offset = offset,
                             .rows = of_rows,
                             .columns = columns});
              offset += of_rows * columns;
            },
            s.input_of(layer));
      }
    }
  };
  each_state([&](auto add, std::int64_t in) {
    add(rnn_role::input_weight, rows, in);
    add(rnn_role::hidden_weight, rows, s.output);
    if (s.projects) add(rnn_role::projection_weight, s.output, s.hidden);
  });
  each_state([&](auto add, std::int64_t) {
    add(rnn_role::input_bias, rows, 1);
    add(rnn_role::hidden_bias, rows, 1);
  });
  return all;
}

std::int64_t rnn_weight_count(const rnn_network& network, std::int64_t input) noexcept {
  const rnn_shape s = rnn_shape::of(network, 0, 0, input);
  const std::int64_t rows = s.gates() * s.hidden;
  const std::int64_t of_states = rows * (s.output + 2) + (s.projects ? s.output * s.hidden : 0);
  return s.directions * (rows * (input + (s.layers - 1) * s.width()) + s.layers * of_states);
}

}  // namespace troupe::dnn
