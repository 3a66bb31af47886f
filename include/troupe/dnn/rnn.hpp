#pragma once

#include <troupe/base/export.hpp>
#include <troupe/dnn/modes.hpp>
#include <troupe/request/request.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

/// Recurrent networks of several layers, forward and backward.
///
/// With x_t the input of a layer at step t, h its state, W and b its weights, and σ(a) = 1 / (1 +
/// e⁻ᵃ):
///
/// - relu, tanh: h_t = f(W_x x_t + b_x + W_h h_{t−1} + b_h)
/// - lstm: i, f, g, o = σ, σ, tanh, σ of the same sums; c_t = f · c_{t−1} + i · g; h_t = o ·
///   tanh(c_t), or with a projection h_t = W_p (o · tanh(c_t))
/// - gru: r, z = σ of the same sums; n = tanh(W_x x_t + b_x + r · (W_h h_{t−1} + b_h)), or without
///   `linear_before_reset` n = tanh(W_x x_t + b_x + W_h (r · h_{t−1}) + b_h); h_t = (1 − z) · n + z
///   · h_{t−1}
///
/// **Sizes.** t steps of b sequences with i features; d directions, 1 or 2; p = `projection` where
/// that is not 0, else `hidden`. x is [t, b, i], y [t, b, d · p], the states h_0 and h_n [layers ·
/// d, b, p], c_0 and c_n [layers · d, b, hidden]. A state of layer l and direction k has the place
/// l · d + k; direction 1 goes from the last step of a sequence to its first one, and its part of y
/// lies behind that of direction 0. Layers above the first one read the y of the one below.
/// x and y have no gaps; they lie time first, or both batch first: a packed [b, t, i] through
/// `permute({1, 0, 2})`. States are packed. h_0 and c_0 are 0 where not given.
///
/// **Weights** are one packed vector: for each layer, and in it for each direction, W_x [gates ·
/// hidden, in], W_h [gates · hidden, p] and with a projection W_p [p, hidden]; behind all of these
/// again for each layer and direction b_x and b_h, [gates · hidden] each. in is i for the first
/// layer and d · p for the others. Gates, 1, 4 of lstm and 3 of gru, are rows in the order above:
/// i f g o, and r z n. So it is PyTorch's tensors in the order of its names, all weights first.
/// `rnn_parameters` lists where each begins.
///
/// **Lengths.** `lengths` has for each sequence how many steps it has, 0 to t; empty: all have t.
/// Behind a sequence's end y and dx are 0, x and dy are not used, and h_n and c_n are the states
/// after its last step; of a sequence of length 0 they are h_0 and c_0.
///
/// **Training.** Forward keeps in `reserve` the values that backward needs, and `rnn_sizes` gives
/// its size in bytes: on a GPU, as cuDNN defines it there. First `rnn_backward_data`, then
/// `rnn_backward_weights`, get the same reserve; the first one changes it, and comes once for each
/// forward. Only with a reserve is there dropout: an output of layer l < layers − 1 to the next one
/// becomes 0 with the probability `dropout`, else it is divided by 1 − dropout. Element j of step s
/// of sequence n is kept where word offset + ((l · t + s) · b + n) · d · p + j of the philox stream
/// of `seed` (`rng::position`) is at least dropout · 2³², on both backends.
///
/// Types: all tensors have one of f64, f32, f16, bf16. Computed in f32, or f64 for f64; a GPU
/// rounds values between layers and steps to the type. `math` is as for convolutions.
///
/// \errors `shape_mismatch`, `type_mismatch`, `layout_unsupported`, `aliasing`; `invalid_argument`
/// for a number out of its range, for c_0, c_n or a projection of another cell than lstm, for
/// `linear_before_reset` = false of another cell than gru, and, when the request runs, for a
/// reserve smaller than `rnn_sizes` says: nothing has been written then; `size_overflow` for an
/// offset beyond the stream; `unsupported` on a GPU for networks that cuDNN does not have
namespace troupe::dnn {

enum class rnn_cell : std::uint8_t { relu, tanh, lstm, gru };

/// The network that the requests of this header compute.
struct rnn_network {
  rnn_cell cell = rnn_cell::lstm;
  std::int64_t hidden = 1;  ///< 1 to 2²⁴
  std::int64_t layers = 1;  ///< 1 to 1024
  bool bidirectional = false;
  std::int64_t projection = 0;  ///< for lstm; below `hidden`; 0: none
  double dropout = 0;           ///< below 1
  std::uint64_t seed = 0;
  std::int64_t offset = 0;  ///< in words of 32 bits
  dnn::math_mode math = dnn::math_mode::strict;
  /// For gru, false: the reset gate multiplies the state before W_h does. ONNX's default is false,
  /// PyTorch's and cuDNN's only way is true.
  bool linear_before_reset = true;

  TROUPE_EXPORT static void describe(description<rnn_network>& d);
};

enum class rnn_role : std::uint8_t {
  input_weight,
  hidden_weight,
  projection_weight,
  input_bias,
  hidden_bias,
};

/// One tensor of the weights, row-major.
struct rnn_parameter {
  std::int64_t layer = 0;
  std::int64_t direction = 0;
  rnn_role role{};
  std::int64_t offset = 0;  ///< in elements
  std::int64_t rows = 0;
  std::int64_t columns = 0;  ///< 1 for a bias

  [[nodiscard]] std::int64_t count() const noexcept { return rows * columns; }
};

/// The tensors of the weights of a network whose input has so many features, in their order, with
/// no gaps. Precondition: its numbers are in their ranges.
[[nodiscard]] TROUPE_EXPORT std::vector<rnn_parameter> rnn_parameters(const rnn_network& network,
                                                                      std::int64_t input);
/// How many elements they have together.
[[nodiscard]] TROUPE_EXPORT std::int64_t rnn_weight_count(const rnn_network& network,
                                                          std::int64_t input) noexcept;

struct rnn_byte_counts {
  std::int64_t weights = 0;  ///< elements of the weights
  std::int64_t reserve = 0;  ///< bytes of a reserve

  TROUPE_EXPORT static void describe(description<rnn_byte_counts>& d);
};

/// Asks how large the weights and the reserve of a network are on this device. Reads and writes
/// nothing.
struct rnn_sizes {
  static constexpr std::string_view name = "dnn.rnn_sizes";
  using reply = rnn_byte_counts;

  rnn_network network{};
  dtype type = dtype::f32;
  std::int64_t steps = 1;
  std::int64_t batch = 1;
  std::int64_t input = 1;

  TROUPE_EXPORT static void describe(description<rnn_sizes>& d);
};

/// Runs the network over sequences.
///
/// Reads x, weights, h_0 and c_0, writes y, h_n and c_n, and for training `reserve`.
struct TROUPE_EXPORT rnn_forward {
  static constexpr std::string_view name = "dnn.rnn_forward";
  using reply = void;

  any_tensor x{};
  any_tensor weights{};
  any_tensor h_0{};  ///< may be left out, as all that follow but y
  any_tensor c_0{};
  any_tensor y{};
  any_tensor h_n{};
  any_tensor c_n{};
  any_tensor reserve{};  ///< given for training
  rnn_network network{};
  std::vector<std::int64_t> lengths{};

  static void describe(description<rnn_forward>& d);
};

/// The gradients by x and by the states that forward began with.
///
/// Reads weights, y, h_0, c_0, dy and the gradients dh_n and dc_n of the last states (0 where not
/// given), writes dx, dh_0 and dc_0, and updates `reserve`.
struct TROUPE_EXPORT rnn_backward_data {
  static constexpr std::string_view name = "dnn.rnn_backward_data";
  using reply = void;

  any_tensor weights{};
  any_tensor h_0{};  ///< as in forward
  any_tensor c_0{};
  any_tensor y{};
  any_tensor dy{};
  any_tensor dh_n{};
  any_tensor dc_n{};
  any_tensor dx{};
  any_tensor dh_0{};
  any_tensor dc_0{};
  any_tensor reserve{};
  rnn_network network{};
  std::vector<std::int64_t> lengths{};

  static void describe(description<rnn_backward_data>& d);
};

/// The gradient by the weights, after `rnn_backward_data`.
///
/// Reads x, y, h_0 and `reserve`, writes dweights, or adds to it where `accumulate` is set.
struct TROUPE_EXPORT rnn_backward_weights {
  static constexpr std::string_view name = "dnn.rnn_backward_weights";
  using reply = void;

  any_tensor x{};
  any_tensor h_0{};  ///< as in forward
  any_tensor y{};
  any_tensor reserve{};
  any_tensor dweights{};
  rnn_network network{};
  std::vector<std::int64_t> lengths{};
  bool accumulate = false;

  static void describe(description<rnn_backward_weights>& d);
};

}  // namespace troupe::dnn
