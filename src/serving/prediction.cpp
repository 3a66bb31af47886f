#include "seconds.hpp"

#include <troupe/serving/prediction.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace troupe::serving {

namespace {

constexpr double forgetting = 0.99;
constexpr double error_weight = 0.05;
constexpr int several = 3;

}  // namespace

void prediction::add(std::int64_t cost, std::chrono::nanoseconds time) noexcept {
  const double c = static_cast<double>(cost);
  double t = std::max(in_seconds(time), 1e-9);
  double keep = forgetting;
  if (known()) {
    const double guess = a_ + b_ * c;
    const double error = std::abs(guess - t);
    error_ratio_ += error_weight * (error / t - error_ratio_);
    // One batch that took far longer is an accident, such as a failover, and counts little. Several
    // in a row mean that batches are different now: the past counts little.
    const int direction = t > 2 * guess ? 1 : t < guess / 2 ? -1 : 0;
    far_off_ = direction != 0 && far_off_ * direction >= 0 ? far_off_ + direction : direction;
    if (std::abs(far_off_) >= several) {
      keep = 0.1;
    } else if (count_ > several) {
      t = std::min(t, 4 * guess);
    }
  }
  count_ = keep * count_ + 1;
  cost_ = keep * cost_ + c;
  cost2_ = keep * cost2_ + c * c;
  time_ = keep * time_ + t;
  product_ = keep * product_ + c * t;
  fit();
}

void prediction::fit() noexcept {
  const double mean = cost_ / count_;
  const double spread = cost2_ / count_ - mean * mean;
  // Batches of one cost do not say what another cost takes: proportional, until they do.
  if (spread > 1e-6 * mean * mean) {
    b_ = (product_ / count_ - mean * (time_ / count_)) / spread;
    a_ = time_ / count_ - b_ * mean;
    if (b_ < 0) {
      b_ = 0;
      a_ = time_ / count_;
    }
    if (a_ >= 0) return;
  }
  a_ = 0;
  b_ = product_ / cost2_;
}

std::chrono::nanoseconds prediction::of(std::int64_t cost) const noexcept {
  return from_seconds(a_ + b_ * static_cast<double>(cost));
}

std::chrono::nanoseconds prediction::upper(std::int64_t cost) const noexcept {
  return from_seconds(in_seconds(of(cost)) * (1 + std::min(3 * error_ratio_, 1.0)));
}

}  // namespace troupe::serving
