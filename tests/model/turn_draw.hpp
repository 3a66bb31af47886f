#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>

namespace troupe::model {

/// Draws whose turn it is: the same for the model and its counterpart.
class turn_draw {
 public:
  explicit turn_draw(std::uint64_t seed) : random_(~seed) {}
  [[nodiscard]] std::size_t below(std::size_t n) { return random_() % n; }

 private:
  std::mt19937_64 random_;
};

/// How long actors have at the end to handle what their mailboxes hold.
constexpr std::chrono::nanoseconds last_timeout = std::chrono::seconds(2);

}  // namespace troupe::model
