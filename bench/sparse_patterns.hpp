#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace troupe::bench {

/// A square matrix in csr whose row lengths follow a power law, in any order, with columns
/// anywhere: the pattern of a graph of people or pages. The fullest row has a hundredth of it.
/// Elements drawn twice count once, so that there are a few thousandths less than `elements`.
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

/// A square matrix of dense 4 × 4 blocks, as many in each block row, whose columns are anywhere:
/// the pattern of a mesh with four unknowns a node. The three formats have the same pattern.
struct row_blocks {
  static constexpr std::int64_t block = 4;
  static constexpr std::int64_t slice_rows = 32;
  /// Offsets and indices of a format.
  struct pattern {
    std::vector<std::int32_t> offsets{0};
    std::vector<std::int32_t> indices;
  };

  std::int64_t n;
  std::int64_t width;                       ///< blocks in a block row
  std::vector<std::int32_t> block_columns;  ///< of each block row, ascending

  row_blocks(std::int64_t rows, std::int64_t blocks_in_row) : n(rows), width(blocks_in_row) {
    std::mt19937 random(20261126);
    const std::int64_t stretch = n / block / width;  // one block in each
    std::uniform_int_distribution<std::int64_t> within(0, stretch - 1);
    for (std::int64_t row = 0; row < n / block; ++row)
      for (std::int64_t k = 0; k < width; ++k)
        block_columns.push_back(static_cast<std::int32_t>(k * stretch + within(random)));
  }
  [[nodiscard]] std::int64_t elements() const noexcept { return n * width * block; }

  [[nodiscard]] pattern bsr() const {
    pattern made{.offsets = {}, .indices = block_columns};
    for (std::int64_t row = 0; row <= n / block; ++row)
      made.offsets.push_back(static_cast<std::int32_t>(row * width));
    return made;
  }
  [[nodiscard]] pattern csr() const {
    pattern made;
    for (std::int64_t row = 0; row < n; ++row) {
      for (std::int64_t k = 0; k < width * block; ++k)
        made.indices.push_back(column(row, k));
      made.offsets.push_back(static_cast<std::int32_t>(made.indices.size()));
    }
    return made;
  }
  [[nodiscard]] pattern sliced_ell() const {
    pattern made;
    for (std::int64_t slice = 0; slice < n; slice += slice_rows) {
      for (std::int64_t k = 0; k < width * block; ++k)
        for (std::int64_t row = slice; row < slice + slice_rows; ++row)
          made.indices.push_back(column(row, k));
      made.offsets.push_back(static_cast<std::int32_t>(made.indices.size()));
    }
    return made;
  }

 private:
  /// The column of element `k` of a row.
  [[nodiscard]] std::int32_t column(std::int64_t row, std::int64_t k) const {
    const auto at = static_cast<std::size_t>(row / block * width + k / block);
    return static_cast<std::int32_t>(block_columns[at] * block + k % block);
  }
};

}  // namespace troupe::bench
