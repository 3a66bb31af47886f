#include "seconds.hpp"

#include <troupe/serving/prediction.hpp>

#include <algorithm>
#include <cmath>

namespace troupe::serving {

namespace {

constexpr double forgetting = 0.99;
constexpr double error_weight = 0.05;

}  // namespace

void prediction::add(std::int64_t cost, std::chrono::nanoseconds time) noexcept {
  const double c = static_cast<double>(cost);
  const double t = std::max(in_seconds(time), 1e-9);
  if (known()) {
    const double error = std::abs(a_ + b_ * c - t);
    square_error_ += error_weight * (error * error - square_error_);
    error_ratio_ += error_weight * (error / t - error_ratio_);
  }
  count_ = forgetting * count_ + 1;
  cost_ = forgetting * cost_ + c;
  cost2_ = forgetting * cost2_ + c * c;
  time_ = forgetting * time_ + t;
  product_ = forgetting * product_ + c * t;
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
  return of(cost) + from_seconds(3 * std::sqrt(square_error_));
}

}  // namespace troupe::serving
