#pragma once

#include <cstdint>

/// Options shared by several requests of neural networks.
namespace troupe::dnn {

/// The function that is applied to each result before it is stored, in the same pass.
enum class activation : std::uint8_t {
  none,
  relu,          ///< x where x > 0, else 0; NaN stays NaN
  clipped_relu,  ///< the same, and `upper` where it is above that; with 6, relu6
  leaky_relu,    ///< x where x > 0, else slope · x
  elu,           ///< x where x > 0, else elu_alpha · (eˣ − 1)
  gelu,          ///< x · Φ(x), by erf
  gelu_tanh,     ///< its approximation by tanh
  silu,          ///< x · sigmoid(x), also called swish
  sigmoid,       ///< 1 / (1 + e⁻ˣ)
  tanh,
  softplus,  ///< log(1 + eˣ)
};

/// The precision of products of f32. `tf32` permits the backend to use it, but does not force it: a
/// backend without it computes as `strict`. Other types take only `strict`.
enum class math_mode : std::uint8_t {
  strict,  ///< every product and sum in f32, or a wider type
  tf32,    ///< inputs rounded to 10 mantissa bits
};

/// How a GPU's library chooses among the kernels that it has for a request.
enum class tuning : std::uint8_t {
  heuristic,  ///< as it proposes
  timed,      ///< by timing several, once
};

}  // namespace troupe::dnn
