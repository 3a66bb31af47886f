// GRU by the equations, the operands and the order of gates of ONNX's operator GRU (opset 14,
// layout 0, default activations), and the mapping of its weights to ours that docs/libraries/dnn.md
// shows.

#include "conformance/scene.hpp"

#include <troupe/dnn/rnn.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace troupe::conformance {
namespace {

using onnx_values = std::vector<double>;

/// ONNX's operands, packed in row-major order; gates in the order z r h.
struct onnx_gru {
  std::int64_t steps = 1, batch = 1, input = 1, hidden = 1, directions = 1;
  bool linear_before_reset = false;
  onnx_values x{};       ///< [seq_length, batch_size, input_size]
  onnx_values w{}, r{};  ///< [num_directions, 3 · hidden_size, input_size or hidden_size]
  onnx_values b{},
      initial_h{};  ///< [num_directions, 6 · hidden_size], [num_directions, batch, hidden]
  std::vector<std::int64_t> sequence_lens{};
};
struct onnx_result {
  onnx_values y{};    ///< [seq_length, num_directions, batch_size, hidden_size]
  onnx_values y_h{};  ///< [num_directions, batch_size, hidden_size]
};

std::int64_t length_of_onnx(const onnx_gru& g, std::int64_t n) {
  return g.sequence_lens.empty() ? g.steps : g.sequence_lens[static_cast<std::size_t>(n)];
}

/// "ht = g(Xt*(Wh^T) + (rt (.) Ht-1)*(Rh^T) + Rbh + Wbh)", and with linear_before_reset
/// "ht = g(Xt*(Wh^T) + (rt (.) (Ht-1*(Rh^T) + Rbh)) + Wbh)".
onnx_result run_onnx(const onnx_gru& g) {
  const std::int64_t h = g.hidden;
  const auto at = [](const onnx_values& of, std::int64_t i) {
    return of[static_cast<std::size_t>(i)];
  };
  const auto sigmoid = [](double a) { return 1 / (1 + std::exp(-a)); };
  onnx_result result{
      .y = onnx_values(static_cast<std::size_t>(g.steps * g.directions * g.batch * h)),
      .y_h = g.initial_h};
  for (std::int64_t d = 0; d < g.directions; ++d) {
    for (std::int64_t n = 0; n < g.batch; ++n) {
      const std::int64_t state = (d * g.batch + n) * h;
      for (std::int64_t i = 0; i < length_of_onnx(g, n); ++i) {
        const std::int64_t t = d == 0 ? i : length_of_onnx(g, n) - 1 - i;
        onnx_values before(static_cast<std::size_t>(h));
        for (std::int64_t j = 0; j < h; ++j)
          before[static_cast<std::size_t>(j)] = at(result.y_h, state + j);
        const auto of_x = [&](std::int64_t row) {
          double sum = at(g.b, d * 6 * h + row);
          for (std::int64_t k = 0; k < g.input; ++k)
            sum +=
                at(g.w, (d * 3 * h + row) * g.input + k) * at(g.x, (t * g.batch + n) * g.input + k);
          return sum;
        };
        const auto of_state = [&](std::int64_t row, const onnx_values& with) {
          double sum = at(g.b, d * 6 * h + 3 * h + row);
          for (std::int64_t k = 0; k < h; ++k)
            sum += at(g.r, (d * 3 * h + row) * h + k) * at(with, k);
          return sum;
        };
        onnx_values reset(static_cast<std::size_t>(h));
        for (std::int64_t j = 0; j < h; ++j)
          reset[static_cast<std::size_t>(j)] =
              sigmoid(of_x(h + j) + of_state(h + j, before)) * at(before, j);
        for (std::int64_t j = 0; j < h; ++j) {
          const double z = sigmoid(of_x(j) + of_state(j, before));
          const double r = sigmoid(of_x(h + j) + of_state(h + j, before));
          const double fresh =
              std::tanh(of_x(2 * h + j) + (g.linear_before_reset ? r * of_state(2 * h + j, before)
                                                                 : of_state(2 * h + j, reset)));
          const double now = (1 - z) * fresh + z * at(before, j);
          result.y_h[static_cast<std::size_t>(state + j)] = now;
          result.y[static_cast<std::size_t>(((t * g.directions + d) * g.batch + n) * h + j)] = now;
        }
      }
    }
  }
  return result;
}

/// Our vector of weights: all W and R, then all biases, with the gates z and r exchanged.
onnx_values weights_of_onnx(const onnx_gru& g) {
  onnx_values all;
  const auto append = [&](const onnx_values& from, std::int64_t first, std::int64_t columns) {
    for (const std::int64_t gate : {1, 0, 2}) {  // r z n
      const auto begin = from.begin() + first + gate * g.hidden * columns;
      all.insert(all.end(), begin, begin + g.hidden * columns);
    }
  };
  for (std::int64_t d = 0; d < g.directions; ++d) {
    append(g.w, d * 3 * g.hidden * g.input, g.input);
    append(g.r, d * 3 * g.hidden * g.hidden, g.hidden);
  }
  for (std::int64_t d = 0; d < g.directions; ++d) {
    append(g.b, d * 6 * g.hidden, 1);
    append(g.b, d * 6 * g.hidden + 3 * g.hidden, 1);
  }
  return all;
}

void check_onnx(const onnx_gru& g, const std::string& name) {
  const onnx_result expected = run_onnx(g);
  scene s;
  s.name(name);
  const auto filled = [&](test_tensor& t, const onnx_values& content) -> test_tensor& {
    s.fill(t, std::vector<number>(content.begin(), content.end()));
    return t;
  };
  const auto packed = [&](std::array<std::int64_t, 3> size) -> test_tensor& {
    return s.tensor(dtype::f32, {size[0], size[1], size[2]}, {size[1] * size[2], size[2], 1});
  };
  const auto& x = filled(packed({g.steps, g.batch, g.input}), g.x);
  const onnx_values ours = weights_of_onnx(g);
  const auto& weights = filled(s.vector(dtype::f32, static_cast<std::int64_t>(ours.size())), ours);
  const auto& h_0 = filled(packed({g.directions, g.batch, g.hidden}), g.initial_h);
  const auto& y = packed({g.steps, g.batch, g.directions * g.hidden});
  const auto& h_n = packed({g.directions, g.batch, g.hidden});
  if (!s.run_if_offered(dnn::rnn_forward{.x = x.view,
                                         .weights = weights.view,
                                         .h_0 = h_0.view,
                                         .y = y.view,
                                         .h_n = h_n.view,
                                         .network = {.cell = dnn::rnn_cell::gru,
                                                     .hidden = g.hidden,
                                                     .bidirectional = g.directions == 2,
                                                     .linear_before_reset = g.linear_before_reset},
                                         .lengths = g.sequence_lens})) {
    return;
  }
  constexpr double tolerance = 1e-5;  // for the sums of a few terms
  const auto now = s.elements_now(y);
  for (std::int64_t t = 0; t < g.steps; ++t) {
    for (std::int64_t d = 0; d < g.directions; ++d) {
      for (std::int64_t n = 0; n < g.batch; ++n) {
        for (std::int64_t j = 0; j < g.hidden; ++j) {
          const auto onnx =
              static_cast<std::size_t>(((t * g.directions + d) * g.batch + n) * g.hidden + j);
          const auto own =
              static_cast<std::size_t>(((t * g.batch + n) * g.directions + d) * g.hidden + j);
          EXPECT_NEAR(now[own].real(), expected.y[onnx], tolerance) << s.note();
        }
      }
    }
  }
  const auto last = s.elements_now(h_n);
  for (std::size_t i = 0; i < last.size(); ++i)
    EXPECT_NEAR(last[i].real(), expected.y_h[i], tolerance) << s.note();
}

onnx_gru constant_gru(onnx_gru g, double bias) {
  const auto all = [](std::int64_t count, double value) {
    return onnx_values(static_cast<std::size_t>(count), value);
  };
  for (std::int64_t i = 0; i < g.steps * g.batch * g.input; ++i)
    g.x.push_back(static_cast<double>(i + 1));
  g.w = all(g.directions * 3 * g.hidden * g.input, 0.1);
  g.r = all(g.directions * 3 * g.hidden * g.hidden, 0.1);
  for (std::int64_t d = 0; d < g.directions; ++d) {
    const onnx_values both[] = {all(3 * g.hidden, bias), all(3 * g.hidden, 0)};
    for (const onnx_values& one : both)
      g.b.insert(g.b.end(), one.begin(), one.end());
  }
  g.initial_h = all(g.directions * g.batch * g.hidden, 0);
  return g;
}

onnx_gru random_gru(onnx_gru g) {
  std::mt19937_64 from(test_seed());
  std::normal_distribution<double> any(0, 0.5);
  const auto some = [&](std::int64_t count) {
    onnx_values drawn(static_cast<std::size_t>(count));
    for (double& one : drawn)
      one = static_cast<float>(any(from));
    return drawn;
  };
  g.x = some(g.steps * g.batch * g.input);
  g.w = some(g.directions * 3 * g.hidden * g.input);
  g.r = some(g.directions * 3 * g.hidden * g.hidden);
  g.b = some(g.directions * 6 * g.hidden);
  g.initial_h = some(g.directions * g.batch * g.hidden);
  return g;
}

// The cases gru_defaults, gru_with_initial_bias and gru_seq_length of ONNX's backend tests, with
// the other value of linear_before_reset too.
TEST(DnnRnnOnnx, GruIsWhatTheOperatorDocuments) {
  for (const bool linear : {false, true}) {
    const std::string with = linear ? ", linear_before_reset" : "";
    check_onnx(
        constant_gru({.batch = 3, .input = 2, .hidden = 5, .linear_before_reset = linear}, 0),
        "gru_defaults" + with);
    check_onnx(
        constant_gru({.batch = 3, .input = 3, .hidden = 3, .linear_before_reset = linear}, 0.1),
        "gru_with_initial_bias" + with);
    check_onnx(
        random_gru(
            {.steps = 2, .batch = 3, .input = 3, .hidden = 5, .linear_before_reset = linear}),
        "gru_seq_length" + with);
    check_onnx(random_gru({.steps = 4,
                           .batch = 3,
                           .input = 3,
                           .hidden = 5,
                           .directions = 2,
                           .linear_before_reset = linear,
                           .sequence_lens = {4, 1, 3}}),
               "bidirectional, sequence_lens" + with);
  }
}

// Y_h of ONNX's gru_defaults, to the digits of f32.
TEST(DnnRnnOnnx, GruDefaultsHasTheKnownResult) {
  const onnx_result result = run_onnx(constant_gru({.batch = 3, .input = 2, .hidden = 5}, 0));
  const double known[] = {0.12397026, 0.20053661, 0.19991654};
  for (std::size_t n = 0; n < 3; ++n)
    EXPECT_NEAR(result.y_h[n * 5], known[n], 1e-7);
}

}  // namespace
}  // namespace troupe::conformance
