#pragma once

#include <troupe/dnn/rnn.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <vector>

/// The shape of a recurrent network, for every request: shared by checks and backends.
namespace troupe::dnn {

inline constexpr std::int64_t most_rnn_features = std::int64_t{1} << 24;
inline constexpr std::int64_t most_rnn_layers = 1024;

[[nodiscard]] constexpr std::int64_t gates_of(rnn_cell cell) noexcept {
  switch (cell) {
    case rnn_cell::lstm:
      return 4;
    case rnn_cell::gru:
      return 3;
    case rnn_cell::relu:
    case rnn_cell::tanh:
      return 1;
  }
  return 1;
}
[[nodiscard]] constexpr std::int64_t directions_of(const rnn_network& n) noexcept {
  return n.bidirectional ? 2 : 1;
}
/// Numbers of a state h.
[[nodiscard]] constexpr std::int64_t output_of(const rnn_network& n) noexcept {
  return n.projection != 0 ? n.projection : n.hidden;
}

struct rnn_shape {
  rnn_cell cell{};
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t input = 0;
  std::int64_t hidden = 0;
  std::int64_t output = 0;
  std::int64_t layers = 0;
  std::int64_t directions = 0;
  bool projects = false;
  bool resets_first = false;  ///< gru: the reset gate multiplies the state before its weights do

  [[nodiscard]] static rnn_shape of(const rnn_network& n, std::int64_t steps, std::int64_t batch,
                                    std::int64_t input) noexcept {
    return {.cell = n.cell,
            .steps = steps,
            .batch = batch,
            .input = input,
            .hidden = n.hidden,
            .output = output_of(n),
            .layers = n.layers,
            .directions = directions_of(n),
            .projects = n.projection != 0,
            .resets_first = n.cell == rnn_cell::gru && !n.linear_before_reset};
  }
  [[nodiscard]] std::int64_t gates() const noexcept { return gates_of(cell); }
  [[nodiscard]] std::int64_t width() const noexcept { return directions * output; }
  [[nodiscard]] std::int64_t rows() const noexcept { return steps * batch; }
  [[nodiscard]] std::int64_t states() const noexcept { return layers * directions; }
  [[nodiscard]] std::int64_t input_of(std::int64_t layer) const noexcept {
    return layer == 0 ? input : width();
  }
};

/// Precondition: shapes are as described.
[[nodiscard]] inline rnn_shape shape_of(const rnn_forward& r) noexcept {
  return rnn_shape::of(r.network, r.x.extent(0), r.x.extent(1), r.x.extent(2));
}
[[nodiscard]] inline rnn_shape shape_of(const rnn_backward_data& r) noexcept {
  return rnn_shape::of(r.network, r.dx.extent(0), r.dx.extent(1), r.dx.extent(2));
}
[[nodiscard]] inline rnn_shape shape_of(const rnn_backward_weights& r) noexcept {
  return rnn_shape::of(r.network, r.x.extent(0), r.x.extent(1), r.x.extent(2));
}
[[nodiscard]] inline rnn_shape shape_of(const rnn_sizes& r) noexcept {
  return rnn_shape::of(r.network, r.steps, r.batch, r.input);
}

/// True if the sizes of the weights can be computed; for questions asked before a request is
/// checked.
[[nodiscard]] constexpr bool in_range(const rnn_network& n) noexcept {
  return n.hidden >= 1 && n.hidden <= most_rnn_features && n.projection >= 0 &&
         n.projection <= most_rnn_features && n.layers >= 1 && n.layers <= most_rnn_layers;
}

/// Whether a [t, b, width] without gaps lies time first; where it lies both ways, it does.
[[nodiscard]] inline bool time_first(const any_tensor& t) noexcept {
  return t.extent(0) <= 1 || t.extent(1) <= 1 || t.stride(0) >= t.stride(1);
}

/// No sequence has a step.
[[nodiscard]] inline bool nothing_to_run(const rnn_shape& s,
                                         const std::vector<std::int64_t>& lengths) noexcept {
  return s.rows() == 0 || (!lengths.empty() && *std::ranges::max_element(lengths) == 0);
}

/// Every sequence has every step.
[[nodiscard]] inline bool every_step(const rnn_shape& s,
                                     const std::vector<std::int64_t>& lengths) noexcept {
  return std::ranges::all_of(lengths, [&](std::int64_t n) { return n == s.steps; });
}

/// Whether dropout applies to what this layer gives to the next one.
[[nodiscard]] inline bool drops(const rnn_network& n) noexcept {
  return n.dropout > 0 && n.layers > 1;
}

}  // namespace troupe::dnn
