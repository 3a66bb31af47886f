#pragma once

#include <cstdint>

/// Choices that several Fourier transforms share.
namespace troupe::fft {

/// The sign of the exponent: `forward` sums x[j] · exp(−2πi jk / n), `inverse` x[j] · exp(+2πi jk /
/// n).
enum class direction : std::uint8_t { forward, inverse };

/// What the sums are multiplied by. N is the product of the transformed extents, those of the real
/// side where one is real.
enum class normalization : std::uint8_t {
  none,   ///< nothing: there and back multiplies by N
  by_n,   ///< 1 / N: the other half of a transform without any
  ortho,  ///< 1 / √N: keeps the Euclidean norm, in both directions
};

}  // namespace troupe::fft
