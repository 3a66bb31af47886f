#pragma once

#include "libraries/dnn/cpu/rnn/cells.hpp"

#include <algorithm>
#include <cstdint>

namespace troupe::cpu::rnn {

/// The right factor of the products of all steps, [depth, columns], packed once: panels of columns,
/// each with its numbers side by side for every step of the depth.
template <class R>
class factor {
 public:
  factor() = default;
  factor(std::int64_t depth, std::int64_t columns) noexcept : depth_(depth), columns_(columns) {}

  /// Numbers that it takes.
  [[nodiscard]] std::int64_t count() const noexcept {
    return (columns_ + with_->panel - 1) / with_->panel * with_->panel * depth_;
  }
  /// From numbers whose neighbours lie `depth_step` and `column_step` apart.
  void pack(const R* from, std::int64_t depth_step, std::int64_t column_step, R* to) noexcept {
    at_ = to;
    // As many steps of the depth as a line of the cache has, where neighbours lie along it: one by
    // one, rows whose distance is a power of two would drive each other out.
    constexpr std::int64_t line = 64 / static_cast<std::int64_t>(sizeof(R));
    const std::int64_t panel = with_->panel;
    for (std::int64_t first = 0; first < columns_; first += panel) {
      const std::int64_t n = std::min(panel, columns_ - first);
      for (std::int64_t begin = 0; begin < depth_; begin += line) {
        const std::int64_t steps = std::min(line, depth_ - begin);
        const R* const here = from + begin * depth_step + first * column_step;
        if (n < panel) std::fill_n(to, steps * panel, R{0});
        for (std::int64_t j = 0; j < n; ++j) {
          for (std::int64_t k = 0; k < steps; ++k)
            to[k * panel + j] = here[k * depth_step + j * column_step];
        }
        to += steps * panel;
      }
    }
  }
  /// Adds the product of rows of numbers to rows.
  void multiply(const R* a, std::int64_t a_step, std::int64_t rows, R* c,
                std::int64_t c_step) const noexcept {
    with_->multiply(a, a_step, rows, at_, depth_, columns_, c, c_step);
  }

 private:
  const cells<R>* with_ = &cells<R>::mine();
  std::int64_t depth_ = 0;
  std::int64_t columns_ = 0;
  const R* at_ = nullptr;
};

}  // namespace troupe::cpu::rnn
