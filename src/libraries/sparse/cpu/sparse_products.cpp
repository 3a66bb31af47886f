#include "libraries/sparse/cpu/elements.hpp"
#include "libraries/sparse/cpu/pattern_check.hpp"
#include "libraries/sparse/cpu/stored_rows.hpp"
#include "libraries/sparse/shared/sparse_factors.hpp"

#include <troupe/plugin/static_registration.hpp>
#include <troupe/sparse/sparse_products.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace troupe::cpu {
namespace {

using factors = sparse::sparse_factors;

/// The columns that a row of the product has, each once.
class row_columns {
 public:
  /// `last_row` has a number for each column.
  explicit row_columns(std::span<std::int64_t> last_row) : last_row_(last_row) {
    std::ranges::fill(last_row_, -1);
  }

  void begin(std::int64_t row) {
    row_ = row;
    found_.clear();
  }
  /// True the first time in a row.
  bool add(std::int64_t column) {
    auto& last = last_row_[static_cast<std::size_t>(column)];
    if (last == row_) return false;
    last = row_;
    found_.push_back(column);
    return true;
  }
  [[nodiscard]] std::vector<std::int64_t>& found() noexcept { return found_; }

 private:
  std::span<std::int64_t> last_row_;
  std::int64_t row_ = -1;
  std::vector<std::int64_t> found_;
};

/// Calls `product(row, column, l, r)` for each product of elements l and r, row by row, and
/// `end(row)` after each row. \errors `invalid_argument`
template <class Product, class End>
result<void> for_each_product(const factors& f, Product product, End end) {
  for (const sparse_matrix* one : {&f.left, &f.right}) {
    if (auto good = check_pattern(*one, sparse::pattern_claim::places); !good) return good;
  }
  with_index(f.left.index_type(), [&]<class L>(L) {
    with_rows<L>(f.left, [&](const auto& left) {
      with_index(f.right.index_type(), [&]<class G>(G) {
        with_rows<G>(f.right, [&](const auto& right) {
          for (std::int64_t i = 0; i < left.rows; ++i) {
            (void)left.for_each(i, [&](std::int64_t l, std::int64_t k) {
              (void)right.for_each(k, [&](std::int64_t g, std::int64_t j) { product(i, j, l, g); });
            });
            end(i);
          }
        });
      });
    });
  });
  return {};
}

[[nodiscard]] std::int64_t columns_of(const factors& f) noexcept {
  return f.right.format == sparse_format::csc ? f.right.rows : f.right.columns;
}

void put(const any_tensor& list, std::int64_t at, std::int64_t value) noexcept {
  with_index(list.type(), [&]<class I>(I) { list.data<I>()[at] = static_cast<I>(value); });
}

template <class T>
result<std::int64_t> multiply(const sparse::spgemm& r, lane_context& lane) {
  using work = working_type<T>;
  const factors f(r);
  const auto width = static_cast<std::size_t>(columns_of(f));
  auto workspace = lane.workspace(width * (sizeof(std::int64_t) + sizeof(work)));
  if (!workspace) return std::move(workspace).error();
  // First the numbers of rows: they need as much alignment as any type of the sums.
  auto* const last_row = reinterpret_cast<std::int64_t*>(workspace->data());
  auto* const sums = reinterpret_cast<work*>(last_row + width);
  row_columns columns({last_row, width});
  const T* const left = f.left.values.template data<T>();
  const T* const right = f.right.values.template data<T>();
  T* const made = r.c.values.template data<T>();
  const work alpha = r.alpha.as<work>();
  const std::int64_t capacity = r.c.indices.extent(0);
  std::int64_t row = -1;
  std::int64_t count = 0;
  put(r.c.offsets, 0, 0);
  auto done = for_each_product(
      f,
      [&](std::int64_t i, std::int64_t j, std::int64_t l, std::int64_t g) {
        if (i != row) columns.begin(row = i);
        work& sum = sums[j];
        if (columns.add(j)) sum = work{};
        sum += times(widened(left[l]), widened(right[g]));
      },
      [&](std::int64_t i) {
        if (i == row) {
          std::ranges::sort(columns.found());
          for (const std::int64_t j : columns.found()) {
            if (count < capacity) {
              put(r.c.indices, count, j);
              made[count] = elementwise::narrowed<T>(times(alpha, sums[j]));
            }
            ++count;
          }
        }
        put(r.c.offsets, i + 1, count);
      });
  if (!done) return std::move(done).error();
  if (!r.nnz.null()) *r.nnz.data<std::int64_t>() = count;
  if (count <= capacity) return count;
  return error{.code = errc::capacity_exceeded,
               .message = "needs " + std::to_string(count) +
                          " elements, but the result has room for " + std::to_string(capacity)};
}

result<std::int64_t> run_spgemm(const sparse::spgemm& r, lane_context& lane) {
  return with_value(r.a.values.type(), [&]<class T>(T) { return multiply<T>(r, lane); });
}

result<std::int64_t> run_size(const sparse::spgemm_size& r, lane_context& lane) {
  const factors f(r);
  const auto width = static_cast<std::size_t>(columns_of(f));
  auto workspace = lane.workspace(width * sizeof(std::int64_t));
  if (!workspace) return std::move(workspace).error();
  row_columns columns({reinterpret_cast<std::int64_t*>(workspace->data()), width});
  std::int64_t row = -1;
  std::int64_t count = 0;
  auto done = for_each_product(
      f,
      [&](std::int64_t i, std::int64_t j, std::int64_t, std::int64_t) {
        if (i != row) columns.begin(row = i);
        if (columns.add(j)) ++count;
      },
      [](std::int64_t) {});
  if (!done) return std::move(done).error();
  if (!r.nnz.null()) *r.nnz.data<std::int64_t>() = count;
  return count;
}

const plugin_operations sparse_products_operations([](operation_table& table) {
  table.add<sparse::spgemm>(run_spgemm, effort::by_size);
  table.add<sparse::spgemm_size>(run_size, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
