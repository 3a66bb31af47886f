#include "libraries/solver/cpu/sparse/matching.hpp"

#include <cstddef>

namespace troupe::cpu {
namespace {

class matching {
 public:
  matching(std::span<const std::int64_t> offsets, std::span<const std::int64_t> rows,
           std::int64_t row_count)
      : offsets_(offsets),
        rows_(rows),
        row_of_(offsets.size() - 1, -1),
        column_of_(static_cast<std::size_t>(row_count), -1),
        next_free_(offsets.begin(), offsets.end() - 1),
        next_(offsets.size() - 1),
        visited_(offsets.size() - 1, -1) {}

  std::vector<std::int64_t> find() {
    for (std::int64_t j = 0; j < static_cast<std::int64_t>(row_of_.size()); ++j)
      augment(j);
    return row_of_;
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  /// A row of the column that no column has; −1 if there is none. A row that is taken stays taken.
  std::int64_t free_row(std::int64_t j) {
    for (std::int64_t& k = next_free_[at(j)]; k < offsets_[at(j + 1)]; ++k) {
      if (column_of_[at(rows_[at(k)])] < 0) return rows_[at(k)];
    }
    return -1;
  }

  /// Depth first, without recursion: paths may be as long as there are columns.
  void augment(std::int64_t from) {
    path_.assign(1, from);
    visited_[at(from)] = from;
    next_[at(from)] = offsets_[at(from)];
    while (!path_.empty()) {
      const std::int64_t j = path_.back();
      if (const std::int64_t row = free_row(j); row >= 0) {
        shift(row);
        return;
      }
      if (!step(from, j)) path_.pop_back();
    }
  }
  /// Goes on to the owner of one of the column's rows that was not visited yet.
  bool step(std::int64_t from, std::int64_t j) {
    for (std::int64_t& k = next_[at(j)]; k < offsets_[at(j + 1)]; ++k) {
      const std::int64_t owner = column_of_[at(rows_[at(k)])];
      if (visited_[at(owner)] == from) continue;
      visited_[at(owner)] = from;
      next_[at(owner)] = offsets_[at(owner)];
      path_.push_back(owner);
      return true;
    }
    return false;
  }
  /// The last column of the path takes the free row; each other one the row of the one behind it.
  void shift(std::int64_t row) {
    while (!path_.empty()) {
      const std::int64_t j = path_.back();
      path_.pop_back();
      const std::int64_t had = row_of_[at(j)];
      row_of_[at(j)] = row;
      column_of_[at(row)] = j;
      row = had;
    }
  }

  std::span<const std::int64_t> offsets_;
  std::span<const std::int64_t> rows_;
  std::vector<std::int64_t> row_of_;     ///< by column
  std::vector<std::int64_t> column_of_;  ///< by row
  std::vector<std::int64_t> next_free_;  ///< by column: elements before it are in rows taken
  std::vector<std::int64_t> next_;       ///< by column: the element to look at next
  std::vector<std::int64_t> visited_;    ///< by column: in the search from this one
  std::vector<std::int64_t> path_;
};

}  // namespace

std::vector<std::int64_t> match_rows(std::span<const std::int64_t> offsets,
                                     std::span<const std::int64_t> rows, std::int64_t row_count) {
  return matching(offsets, rows, row_count).find();
}

}  // namespace troupe::cpu
