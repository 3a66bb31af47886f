#pragma once

#include "backend/lru_cache.hpp"
#include "libraries/fft/requests/geometry.hpp"

#include <cstddef>
#include <cstdint>

namespace troupe::fft {

// For a transform: 4, and 3 for each dimension; a backend adds a few.
using plan_numbers = number_key<4 + 3 * max_rank + 8>;

/// All that a plan depends on.
class plan_key : public plan_numbers {
 public:
  using plan_numbers::add;
  /// Kind, precision, direction, extents and strides.
  void add(const transform& t) noexcept {
    add(static_cast<std::int64_t>(t.kind));
    add(static_cast<std::int64_t>(t.precision));
    add(static_cast<std::int64_t>(t.direction));
    add(t.rank);
    for (int d = 0; d < t.rank; ++d)
      add(t.axes[static_cast<std::size_t>(d)]);
    for (int d = 0; d < t.batches; ++d)
      add(t.batch[static_cast<std::size_t>(d)]);
  }

  bool operator==(const plan_key&) const = default;

 private:
  void add(const loop& one) noexcept {
    add(one.n);
    add(one.in);
    add(one.out);
  }
};

/// Bytes that a plan is taken to hold: a complex factor for each number of each axis, and some for
/// what describes it. No library says it.
[[nodiscard]] inline std::int64_t plan_bytes(const transform& t) noexcept {
  std::int64_t bytes = 4096;
  for (int d = 0; d < t.rank; ++d)
    bytes += t.axes[static_cast<std::size_t>(d)].n * number_bytes(t.precision, true);
  return bytes;
}

/// The plans used last.
template <class Plan>
class plan_cache : public lru_cache<plan_key, Plan, plan_key::hash> {
 public:
  static constexpr std::size_t most_plans = 64;
  static constexpr std::int64_t most_bytes = std::int64_t{256} << 20;

  plan_cache() : lru_cache<plan_key, Plan, plan_key::hash>(most_plans, most_bytes) {}
};

}  // namespace troupe::fft
