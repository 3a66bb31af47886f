#pragma once

#include <cstdint>

/// Options shared by several Fourier transforms.
namespace troupe::fft {

/// The sign of the exponent: `forward` sums x[j] · exp(−2πi jk / n), `inverse` x[j] · exp(+2πi jk /
/// n).
enum class direction : std::uint8_t { forward, inverse };

/// The factor of the sums. N is the product of the transformed extents; for a real transform, of
/// those of the real side.
enum class normalization : std::uint8_t {
  none,   ///< nothing: there and back multiplies by N
  by_n,   ///< 1 / N: the other half of a transform without any
  ortho,  ///< 1 / √N: keeps the Euclidean norm, in both directions
};

/// The arithmetic of a transform with both a load and a store function.
enum class precision : std::uint8_t {
  of_operands,  ///< that of `in` or `out`, whichever has no function
  f32,
  f64,
};

}  // namespace troupe::fft
