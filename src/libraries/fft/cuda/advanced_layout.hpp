#pragma once

#include "libraries/fft/requests/geometry.hpp"

#include <array>
#include <cstdint>
#include <optional>

/// Which transforms cuFFT does where they lie. Source: cuFFT documentation, "Advanced Data Layout":
/// number [b][x][y][z] of an operand lies at
/// b · distance + ((x · embed[1] + y) · embed[2] + z) · stride.
namespace troupe::cuda {

/// The dimensions of one operand, in its numbers; `embed` is outermost first.
struct advanced_side {
  std::array<std::int64_t, 3> embed{1, 1, 1};
  std::int64_t stride = 1;
  std::int64_t distance = 1;
};

/// A transform as calls of one plan: each does `batch` transforms, and begins where the indices of
/// `outer` say.
struct advanced_layout {
  advanced_side in;
  advanced_side out;
  std::int64_t batch = 1;
  std::array<fft::loop, max_rank> outer{};
  int outer_rank = 0;
};

/// True when this operand of `t` alone would let cuFFT do it, in one call.
[[nodiscard]] bool input_fits(const fft::transform& t) noexcept;
[[nodiscard]] bool output_fits(const fft::transform& t) noexcept;

/// How cuFFT does `t` where it lies, in a few calls at most; nothing where it cannot, or not worth
/// the calls. Both operands row-major without gaps are always done in one.
[[nodiscard]] std::optional<advanced_layout> advanced_layout_of(const fft::transform& t) noexcept;

}  // namespace troupe::cuda
