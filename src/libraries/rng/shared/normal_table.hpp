#pragma once

#include "libraries/rng/shared/real_functions.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

/// Quantiles of the normal distribution in f32, where f64 would take several times as long as
/// making the words: a cubic for each sixteenth of each octave of the distance to the nearer end.
/// Evaluated by products and sums of f32, which every processor rounds alike (see philox.hpp), it
/// is within two units in the last place, or 10⁻⁸ around 0.
namespace troupe::rng {

/// The cubic c[0] + c[1]·f + c[2]·f² + c[3]·f³ of the 27 bits f that say where in it.
struct alignas(16) normal_segment {
  float c[4] = {};
};

inline constexpr int segments_per_octave = 16;
inline constexpr int normal_segments = 32 * segments_per_octave;

/// Interpolates the quantiles (of the lower half, so below 0) at the Chebyshev nodes.
constexpr normal_segment normal_segment_of(int index) noexcept {
  constexpr double nodes[] = {0.038060233744356631, 0.30865828381745508, 0.69134171618254486,
                              0.96193976625564337};
  const double begin = segments_per_octave + index % segments_per_octave;
  const double unit = power_of_two(-6 - index / segments_per_octave);
  double difference[4] = {};
  for (int i = 0; i < 4; ++i)
    difference[i] = normal_quantile((begin + nodes[i]) * unit);
  for (int order = 1; order < 4; ++order) {
    for (int i = 3; i >= order; --i)
      difference[i] = (difference[i] - difference[i - 1]) / (nodes[i] - nodes[i - order]);
  }
  // From Newton's form to powers, innermost factor first.
  double power[4] = {difference[3], 0, 0, 0};
  for (int i = 2; i >= 0; --i) {
    for (int j = 3; j > 0; --j)
      power[j] = power[j - 1] - nodes[i] * power[j];
    power[0] = difference[i] - nodes[i] * power[0];
  }
  normal_segment made;
  for (int j = 0; j < 4; ++j)
    made.c[j] = static_cast<float>(power[j] * power_of_two(-27 * j));
  return made;
}

/// The quantile at (word + 1/2) / 2^32, by a table of `normal_segments`.
constexpr float normal_quantile(const normal_segment* table, std::uint32_t word) noexcept {
  // The distance to the nearer end, in units of 2^-33: odd, so never 0.
  const std::uint32_t distance = 2 * std::min(word, ~word) + 1;
  const int octave = std::countl_zero(distance);
  const std::uint32_t place = distance << octave;  // the highest bit is set
  const auto f = static_cast<float>(place & 0x7FFFFFFu);
  const normal_segment& segment =
      table[octave * segments_per_octave + static_cast<int>(place >> 27 & 15u)];
  const float lower = segment.c[0] + f * (segment.c[1] + f * (segment.c[2] + f * segment.c[3]));
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(lower) ^ (word & 0x80000000u));
}

/// A sampler that looks quantiles up, in a table that it is to be given.
template <class Sampler>
concept has_normal_table = requires(Sampler s, const normal_segment* table) { s.table = table; };

}  // namespace troupe::rng
