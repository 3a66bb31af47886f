#pragma once

#include <troupe/base/export.hpp>

#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace troupe {

/// How often durations were observed, by size: four buckets for each power of two from 256 ns to
/// 137 s, so a quantile is at most 19 % too large. The first bucket has all that is shorter, the
/// last one also all that is longer.
struct duration_histogram {
  static constexpr std::size_t buckets = 117;

  std::array<std::uint64_t, buckets> counts{};
  std::chrono::nanoseconds sum{};

  [[nodiscard]] static constexpr std::size_t bucket_of(std::chrono::nanoseconds d) noexcept {
    if (d.count() < 256) return 0;
    const auto ns = static_cast<std::uint64_t>(d.count());
    const auto power = static_cast<std::size_t>(std::bit_width(ns) - 1);
    const std::size_t bucket = 4 * (power - 8) + (ns >> (power - 2) & 3) + 1;
    return bucket < buckets ? bucket : buckets - 1;
  }
  /// The duration below which those of this bucket and of all before it are.
  [[nodiscard]] static constexpr std::chrono::nanoseconds bound_of(std::size_t bucket) noexcept {
    if (bucket == 0) return std::chrono::nanoseconds(256);
    const std::size_t power = 8 + (bucket - 1) / 4;
    return std::chrono::nanoseconds((5 + (bucket - 1) % 4) << (power - 2));
  }

  void observe(std::chrono::nanoseconds d) noexcept {
    ++counts[bucket_of(d)];
    sum += d;
  }
  /// How many were observed.
  [[nodiscard]] TROUPE_EXPORT std::uint64_t count() const noexcept;
  /// How many were shorter: exact for a bound of a bucket, else for the next smaller one.
  [[nodiscard]] TROUPE_EXPORT std::uint64_t count_below(std::chrono::nanoseconds d) const noexcept;
  /// The bound of the bucket with this quantile (0.5: the median); 0 if nothing was observed.
  [[nodiscard]] TROUPE_EXPORT std::chrono::nanoseconds quantile(double q) const noexcept;
};

}  // namespace troupe
