#include <troupe/telemetry/duration_histogram.hpp>

#include <cmath>
#include <numeric>

namespace troupe {

static_assert(duration_histogram::bound_of(duration_histogram::buckets - 1).count() ==
              std::int64_t{1} << 37);

std::uint64_t duration_histogram::count() const noexcept {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

std::uint64_t duration_histogram::count_below(std::chrono::nanoseconds d) const noexcept {
  std::uint64_t below = 0;
  for (std::size_t b = 0; b < buckets && bound_of(b) <= d; ++b)
    below += counts[b];
  return below;
}

std::chrono::nanoseconds duration_histogram::quantile(double q) const noexcept {
  const std::uint64_t all = count();
  if (all == 0) return {};
  const auto wanted = static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(all)));
  std::uint64_t seen = 0;
  std::size_t b = 0;
  while (b + 1 < buckets && (seen += counts[b]) < wanted)
    ++b;
  return bound_of(b);
}

}  // namespace troupe
