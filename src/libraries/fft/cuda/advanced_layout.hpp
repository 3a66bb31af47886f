#pragma once

#include "libraries/fft/requests/geometry.hpp"

#include <array>
#include <cstdint>
#include <optional>

/// The layouts that cuFFT transforms without copies. Source: cuFFT documentation, "Advanced Data
/// Layout": number [b][x][y][z] of an operand is at index b · distance + ((x · embed[1] + y) ·
/// embed[2] + z) · stride.
namespace troupe::cuda {

/// The layout of one operand, in its numbers; `embed` is outermost first.
struct advanced_side {
  std::array<std::int64_t, 3> embed{1, 1, 1};
  std::int64_t stride = 1;
  std::int64_t distance = 1;
};

/// A transform as calls of one plan. Each call does `batch` transforms and begins at an index of
/// the `outer` loops.
struct advanced_layout {
  advanced_side in;
  advanced_side out;
  std::int64_t batch = 1;
  std::array<fft::loop, max_rank> outer{};
  int outer_rank = 0;
};

/// True if cuFFT could do `t` in one call as far as this operand is concerned.
[[nodiscard]] bool input_fits(const fft::transform& t) noexcept;
[[nodiscard]] bool output_fits(const fft::transform& t) noexcept;

/// The calls by which cuFFT does `t` without copies; nothing if that is not possible, or needs too
/// many calls. Packed row-major operands always need one call.
[[nodiscard]] std::optional<advanced_layout> advanced_layout_of(const fft::transform& t) noexcept;

}  // namespace troupe::cuda
