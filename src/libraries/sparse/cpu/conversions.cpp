#include "libraries/sparse/cpu/elements.hpp"
#include "libraries/sparse/cpu/pattern_check.hpp"

#include <troupe/plugin/static_registration.hpp>
#include <troupe/sparse/conversions.hpp>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace troupe::cpu {
namespace {

/// A resulting matrix, written as elements come in order.
class writer {
 public:
  explicit writer(const sparse_matrix& to)
      : to_(to),
        by_columns_(to.format == sparse_format::csc),
        capacity_(to.indices.extent(0)),
        bytes_(size_of(to.values.type())) {}

  [[nodiscard]] bool by_columns() const noexcept { return by_columns_; }
  [[nodiscard]] std::int64_t majors() const noexcept {
    return by_columns_ ? to_.columns : to_.rows;
  }
  /// The next element. Majors do not descend.
  void add(std::int64_t major, std::int64_t minor, const std::byte* value) noexcept {
    begin_majors(major);
    if (count_ < capacity_) {
      if (to_.format == sparse_format::coo) put(to_.row_indices, count_, major);
      put(to_.indices, count_, minor);
      std::memcpy(to_.values.address() + count_ * bytes_, value, static_cast<std::size_t>(bytes_));
    }
    ++count_;
  }
  /// Answers how many there are. \errors `capacity_exceeded`
  result<std::int64_t> finish(const any_tensor& nnz) {
    begin_majors(majors());
    if (!nnz.null()) *nnz.data<std::int64_t>() = count_;
    if (count_ <= capacity_) return count_;
    return error{.code = errc::capacity_exceeded,
                 .message = "needs " + std::to_string(count_) +
                            " elements, but the result has room for " + std::to_string(capacity_)};
  }

 private:
  static void put(const any_tensor& list, std::int64_t at, std::int64_t value) noexcept {
    if (list.type() == dtype::i64) {
      list.data<std::int64_t>()[at] = value;
    } else {
      list.data<std::int32_t>()[at] = static_cast<std::int32_t>(value);
    }
  }
  void begin_majors(std::int64_t last) noexcept {
    if (to_.format == sparse_format::coo) return;
    for (; begun_ <= last; ++begun_)
      put(to_.offsets, begun_, count_);
  }

  const sparse_matrix& to_;
  bool by_columns_;
  std::int64_t capacity_;
  std::int64_t bytes_;
  std::int64_t count_ = 0;
  std::int64_t begun_ = 0;  ///< majors whose offset has been written
};

result<std::int64_t> run_from_dense(const sparse::from_dense& r, lane_context&) {
  writer to(r.b);
  with_value(r.a.type(), [&]<class T>(T) {
    const dense_elements<const T> a(to.by_columns() ? r.a.transpose() : r.a);
    for (std::int64_t i = 0; i < a.rows; ++i) {
      for (std::int64_t j = 0; j < a.columns; ++j) {
        const T& v = a(i, j);
        if (widened(v) != working_type<T>{}) to.add(i, j, reinterpret_cast<const std::byte*>(&v));
      }
    }
  });
  return to.finish(r.nnz);
}

result<void> run_to_dense(const sparse::to_dense& r, lane_context&) {
  if (auto good = check_pattern(r.a, sparse::pattern_claim::places); !good) return good;
  const sparse::pattern p = sparse::pattern_of(r.a);
  return with_value(r.b.type(), [&]<class T>(T) -> result<void> {
    const dense_elements<T> b(r.b);
    const T* const values = r.a.values.template data<T>();
    for (std::int64_t i = 0; i < b.rows; ++i) {
      for (std::int64_t j = 0; j < b.columns; ++j)
        b(i, j) = T{};
    }
    for (std::int64_t e = 0; e < r.a.stored(); ++e) {
      const sparse::element_place at = p.place_of(e);
      if (at.what != sparse::element_place::kind::element) continue;
      T& sum = b(at.row, at.column);
      sum = elementwise::narrowed<T>(widened(sum) + widened(values[e]));
    }
    return {};
  });
}

/// An element of the matrix that is converted.
struct found_element {
  std::int64_t major;
  std::int64_t minor;
  std::int64_t from;
};

/// A stable sort by one of the two indices, which is below `extent`.
void sort_by(std::int64_t found_element::* key, std::int64_t extent,
             std::vector<found_element>& elements, std::vector<found_element>& other) {
  std::vector<std::int64_t> begins(static_cast<std::size_t>(extent) + 1);
  for (const found_element& e : elements)
    ++begins[static_cast<std::size_t>(e.*key) + 1];
  for (std::size_t i = 1; i < begins.size(); ++i)
    begins[i] += begins[i - 1];
  for (const found_element& e : elements)
    other[static_cast<std::size_t>(begins[static_cast<std::size_t>(e.*key)]++)] = e;
  elements.swap(other);
}

void sort(std::vector<found_element>& elements, std::int64_t majors, std::int64_t minors) {
  // Counting takes room for each row and column, of which there may be more than elements.
  const auto n = static_cast<std::int64_t>(elements.size());
  if (majors / 4 > n || minors / 4 > n) {
    std::ranges::sort(elements, {},
                      [](const found_element& e) { return std::tuple(e.major, e.minor, e.from); });
    return;
  }
  std::vector<found_element> other(elements.size());
  sort_by(&found_element::minor, minors, elements, other);
  sort_by(&found_element::major, majors, elements, other);
}

/// Adds the elements of `a` that are in `to`, which begins at [first_row, first_column] of it, with
/// numbers from `number` on. \errors `invalid_argument`
result<void> find_elements(const sparse_matrix& a, std::int64_t first_row,
                           std::int64_t first_column, const sparse_matrix& to, std::int64_t number,
                           std::vector<found_element>& elements) {
  if (auto good = check_pattern(a, sparse::pattern_claim::places); !good) return good;
  const sparse::pattern p = sparse::pattern_of(a);
  const bool by_columns = to.format == sparse_format::csc;
  elements.reserve(elements.size() + static_cast<std::size_t>(a.stored()));
  for (std::int64_t e = 0; e < a.stored(); ++e) {
    const sparse::element_place at = p.place_of(e);
    if (at.what != sparse::element_place::kind::element) continue;
    const std::int64_t row = at.row - first_row;
    const std::int64_t column = at.column - first_column;
    if (row < 0 || row >= to.rows || column < 0 || column >= to.columns) continue;
    elements.push_back({.major = by_columns ? column : row,
                        .minor = by_columns ? row : column,
                        .from = number + e});
  }
  return {};
}

result<std::int64_t> take_part(const sparse_matrix& a, std::int64_t first_row,
                               std::int64_t first_column, const sparse_matrix& made,
                               const any_tensor& nnz) {
  std::vector<found_element> elements;
  if (auto found = find_elements(a, first_row, first_column, made, 0, elements); !found)
    return std::move(found).error();
  writer to(made);
  sort(elements, to.majors(), to.by_columns() ? made.rows : made.columns);
  const std::int64_t bytes = size_of(a.values.type());
  for (const found_element& e : elements)
    to.add(e.major, e.minor, a.values.address() + e.from * bytes);
  return to.finish(nnz);
}

result<std::int64_t> run_convert(const sparse::convert& r, lane_context&) {
  return take_part(r.a, 0, 0, r.b, r.nnz);
}

result<std::int64_t> run_slice(const sparse::slice& r, lane_context&) {
  return take_part(r.a, r.first_row, r.first_column, r.b, r.nnz);
}

result<std::int64_t> run_add(const sparse::add& r, lane_context&) {
  const std::int64_t of_a = r.a.stored();
  std::vector<found_element> elements;
  if (auto found = find_elements(r.a, 0, 0, r.c, 0, elements); !found)
    return std::move(found).error();
  if (auto found = find_elements(r.b, 0, 0, r.c, of_a, elements); !found)
    return std::move(found).error();
  writer to(r.c);
  sort(elements, to.majors(), to.by_columns() ? r.c.rows : r.c.columns);
  with_value(r.c.values.type(), [&]<class T>(T) {
    using work = working_type<T>;
    const T* const a = r.a.values.template data<T>();
    const T* const b = r.b.values.template data<T>();
    const work alpha = r.alpha.as<work>();
    const work beta = r.beta.as<work>();
    for (auto e = elements.begin(); e != elements.end();) {
      const auto [major, minor, first] = *e;
      work sum{};
      for (; e != elements.end() && e->major == major && e->minor == minor; ++e) {
        if (e->from < of_a) {
          if (alpha != work{}) sum += times(alpha, widened(a[e->from]));
        } else if (beta != work{}) {
          sum += times(beta, widened(b[e->from - of_a]));
        }
      }
      const T rounded = elementwise::narrowed<T>(sum);
      to.add(major, minor, reinterpret_cast<const std::byte*>(&rounded));
    }
  });
  return to.finish(r.nnz);
}

const plugin_operations conversions_operations([](operation_table& table) {
  table.add<sparse::from_dense>(run_from_dense, effort::by_size);
  table.add<sparse::to_dense>(run_to_dense, effort::by_size);
  table.add<sparse::convert>(run_convert, effort::by_size);
  table.add<sparse::slice>(run_slice, effort::by_size);
  table.add<sparse::add>(run_add, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
