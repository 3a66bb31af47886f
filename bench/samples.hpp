#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <numeric>
#include <vector>

namespace troupe::bench {

using clock = std::chrono::steady_clock;

/// Times of repeated runs, in microseconds.
class samples {
 public:
  /// Runs `work` `count` times and keeps each time.
  template <class Work>
  void take(std::size_t count, Work&& work) {
    times_.reserve(times_.size() + count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto begin = clock::now();
      work();
      add(clock::now() - begin);
    }
  }
  void add(clock::duration spent) { add(std::chrono::duration<double, std::micro>(spent).count()); }
  void add(double microseconds) { times_.push_back(microseconds); }
  void add(const samples& more) {
    times_.insert(times_.end(), more.times_.begin(), more.times_.end());
  }

  [[nodiscard]] bool empty() const noexcept { return times_.empty(); }
  /// The mean of the middle half. For times of two kinds it lies between them, but the median is
  /// that of the kind which happens to be more frequent; outliers count for it as little.
  /// Precondition: not empty.
  [[nodiscard]] double middle() {
    std::ranges::sort(times_);
    const auto quarter = static_cast<std::ptrdiff_t>(times_.size() / 4);
    const auto count = static_cast<std::ptrdiff_t>(times_.size()) - 2 * quarter;
    return std::accumulate(times_.begin() + quarter, times_.end() - quarter, 0.0) /
           static_cast<double>(count);
  }
  [[nodiscard]] double median() { return percentile(0.5); }
  [[nodiscard]] double p99() { return percentile(0.99); }
  /// The value below which this part of the samples lies. Precondition: not empty.
  [[nodiscard]] double percentile(double part) {
    const auto at = static_cast<std::size_t>(part * static_cast<double>(times_.size() - 1));
    std::nth_element(times_.begin(), times_.begin() + static_cast<std::ptrdiff_t>(at),
                     times_.end());
    return times_[at];
  }

 private:
  std::vector<double> times_;
};

}  // namespace troupe::bench
