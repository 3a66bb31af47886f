#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace troupe::bench {

/// A square matrix in csr whose rows are as long as a power law says, in any order, with columns
/// anywhere: the pattern of a graph of people or pages. The fullest row has a hundredth of it. What
/// is drawn twice counts once, so that there are a few thousandths less than `elements`.
struct power_law {
  std::int64_t n;
  std::vector<std::int32_t> offsets{0};
  std::vector<std::int32_t> columns;

  power_law(std::int64_t rows, std::int64_t elements) : n(rows) {
    std::mt19937 random(20261125);
    std::vector<double> weights(static_cast<std::size_t>(rows));
    double sum = 0;
    for (std::size_t i = 0; i < weights.size(); ++i)
      sum += weights[i] = std::pow(static_cast<double>(i + 1), -0.8);
    std::ranges::shuffle(weights, random);
    double reached = 0;
    std::uniform_int_distribution<std::int32_t> column(0, static_cast<std::int32_t>(rows - 1));
    columns.reserve(static_cast<std::size_t>(elements));
    std::int64_t drawn = 0;
    for (const double weight : weights) {
      reached += weight / sum * static_cast<double>(elements);
      const std::size_t first = columns.size();
      for (; static_cast<double>(drawn) < std::floor(reached); ++drawn)
        columns.push_back(column(random));
      const auto begin = columns.begin() + static_cast<std::ptrdiff_t>(first);
      std::sort(begin, columns.end());
      columns.erase(std::unique(begin, columns.end()), columns.end());
      offsets.push_back(static_cast<std::int32_t>(columns.size()));
    }
  }
  [[nodiscard]] std::int64_t elements() const noexcept {
    return static_cast<std::int64_t>(columns.size());
  }
};

}  // namespace troupe::bench
