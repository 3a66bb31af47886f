#pragma once

#include "ops/fft/geometry.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <utility>

namespace troupe::fft {

/// All that a plan depends on, as numbers.
class plan_key {
 public:
  void add(std::int64_t number) noexcept { numbers_[used_++] = number; }
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

  struct hash {
    std::size_t operator()(const plan_key& key) const noexcept {
      constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;  // the golden ratio: it spreads low bits
      std::uint64_t mixed = 0;
      for (std::size_t i = 0; i < key.used_; ++i)
        mixed = std::rotl(mixed * odd, 29) ^ static_cast<std::uint64_t>(key.numbers_[i]);
      return mixed * odd;
    }
  };

 private:
  void add(const loop& one) noexcept {
    add(one.n);
    add(one.in);
    add(one.out);
  }

  // A transform's: 4, and 3 for each dimension; a backend adds a few.
  std::array<std::int64_t, 4 + 3 * max_rank + 8> numbers_{};
  std::size_t used_ = 0;
};

/// Bytes that a plan is taken to hold: a complex factor for each number of each axis, and some for
/// what describes it. No library says it.
[[nodiscard]] inline std::int64_t plan_bytes(const transform& t) noexcept {
  std::int64_t bytes = 4096;
  for (int d = 0; d < t.rank; ++d)
    bytes += t.axes[static_cast<std::size_t>(d)].n * number_bytes(t.precision, true);
  return bytes;
}

/// The plans used last: at most `most_plans`, and of more than `most_bytes` one. Used by one thread
/// at a time.
template <class Plan>
class plan_cache {
 public:
  static constexpr std::size_t most_plans = 64;
  static constexpr std::int64_t most_bytes = std::int64_t{256} << 20;

  /// The plan of `key`, which is now the one used last; null where there is none. Valid until the
  /// next `add`.
  [[nodiscard]] Plan* find(const plan_key& key) {
    const auto found = places_.find(key);
    if (found == places_.end()) return nullptr;
    kept_.splice(kept_.begin(), kept_, found->second);
    return &found->second->plan;
  }

  /// Keeps a plan that `find` has not found, and drops those not used for longest.
  Plan& add(const plan_key& key, Plan plan, std::int64_t bytes) {
    kept_.push_front({key, std::move(plan), bytes});
    places_.emplace(key, kept_.begin());
    bytes_ += bytes;
    while (kept_.size() > 1 && (kept_.size() > most_plans || bytes_ > most_bytes)) {
      bytes_ -= kept_.back().bytes;
      places_.erase(kept_.back().key);
      kept_.pop_back();
    }
    return kept_.front().plan;
  }

  [[nodiscard]] std::size_t size() const noexcept { return kept_.size(); }

 private:
  struct entry {
    plan_key key;
    Plan plan;
    std::int64_t bytes;
  };
  std::list<entry> kept_;  // the one used last first
  std::unordered_map<plan_key, typename std::list<entry>::iterator, plan_key::hash> places_;
  std::int64_t bytes_ = 0;
};

}  // namespace troupe::fft
