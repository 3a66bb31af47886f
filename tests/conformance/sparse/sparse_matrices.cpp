#include "sparse_matrices.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace troupe::conformance {
namespace {

constexpr std::int64_t block_rows = 2;
constexpr std::int64_t block_columns = 3;
constexpr std::int64_t ell_block = 2;
constexpr std::int64_t slice_rows = 4;

using numbers = std::vector<std::int64_t>;

/// The columns that each row has.
std::vector<numbers> random_rows(scene& s, const sparse_shape& shape) {
  std::vector<numbers> rows(static_cast<std::size_t>(shape.rows));
  const auto per_mille = static_cast<std::uint64_t>(shape.density * 1000);
  for (numbers& row : rows) {
    if (s.generator()() % 5 == 0) continue;
    for (std::int64_t j = 0; j < shape.columns; ++j) {
      if (s.generator()() % 1000 < per_mille) row.push_back(j);
    }
    if (shape.ordered || row.empty()) continue;
    row.push_back(row[s.generator()() % row.size()]);
    std::ranges::shuffle(row, s.generator());
  }
  return rows;
}

std::vector<number> as_numbers(const numbers& values) {
  std::vector<number> made;
  for (const std::int64_t v : values)
    made.emplace_back(static_cast<double>(v));
  return made;
}

/// Values, random where they have a place and NaN where they are padding.
test_tensor& values_of(scene& s, dtype type, const scene::extents& size,
                       const std::vector<test_sparse::place>& places) {
  scene::extents strides(size.size(), 1);
  for (std::size_t d = size.size(); d-- > 1;)
    strides[d - 1] = strides[d] * std::max<std::int64_t>(1, size[d]);
  test_tensor& t = s.tensor(type, size, strides);
  std::vector<number> values = t.values;
  for (std::size_t e = 0; e < places.size(); ++e) {
    if (places[e].row < 0) values[e] = std::numeric_limits<double>::quiet_NaN();
  }
  s.fill(t, values);
  return t;
}

any_tensor view_of(const test_tensor* t) { return t == nullptr ? any_tensor() : t->view; }

void take_views(test_sparse& made) {
  made.a.offsets = view_of(made.offsets);
  made.a.row_indices = view_of(made.row_indices);
  made.a.indices = view_of(made.indices);
  made.a.values = view_of(made.values);
}

/// csr, or with rows and columns exchanged csc, or coo.
test_sparse compressed(scene& s, const sparse_shape& shape, const std::vector<numbers>& rows) {
  test_sparse made;
  numbers offsets{0};
  numbers row_of;
  numbers indices;
  const bool by_columns = shape.format == sparse_format::csc;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    for (const std::int64_t j : rows[i]) {
      row_of.push_back(row);
      indices.push_back(j);
      made.places.push_back(by_columns ? test_sparse::place{j, row} : test_sparse::place{row, j});
    }
    offsets.push_back(static_cast<std::int64_t>(indices.size()));
  }
  if (shape.format == sparse_format::coo) {
    made.row_indices = &integers(s, shape.index, row_of);
  } else {
    made.offsets = &integers(s, shape.index, offsets);
  }
  made.indices = &integers(s, shape.index, indices);
  made.values = &values_of(s, shape.type, {static_cast<std::int64_t>(indices.size())}, made.places);
  made.a.rows = shape.rows;
  made.a.columns = shape.columns;
  return made;
}

test_sparse blocks(scene& s, const sparse_shape& shape, const std::vector<numbers>& rows) {
  test_sparse made;
  numbers offsets{0};
  numbers indices;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const std::int64_t j : rows[i]) {
      indices.push_back(j);
      for (std::int64_t p = 0; p < block_rows; ++p) {
        for (std::int64_t q = 0; q < block_columns; ++q)
          made.places.push_back(
              {static_cast<std::int64_t>(i) * block_rows + p, j * block_columns + q});
      }
    }
    offsets.push_back(static_cast<std::int64_t>(indices.size()));
  }
  made.offsets = &integers(s, shape.index, offsets);
  made.indices = &integers(s, shape.index, indices);
  made.values = &values_of(s, shape.type,
                           {static_cast<std::int64_t>(indices.size()), block_rows, block_columns},
                           made.places);
  made.a.rows = shape.rows * block_rows;
  made.a.columns = shape.columns * block_columns;
  return made;
}

test_sparse blocked_ell(scene& s, const sparse_shape& shape, const std::vector<numbers>& rows) {
  test_sparse made;
  std::size_t width = 0;
  for (const numbers& row : rows)
    width = std::max(width, row.size());
  numbers indices;
  for (const numbers& row : rows) {
    for (std::size_t k = 0; k < width; ++k)
      indices.push_back(k < row.size() ? row[k] : -1);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::int64_t p = 0; p < ell_block; ++p) {
      for (std::size_t k = 0; k < width; ++k) {
        for (std::int64_t q = 0; q < ell_block; ++q) {
          if (k < rows[i].size()) {
            made.places.push_back(
                {static_cast<std::int64_t>(i) * ell_block + p, rows[i][k] * ell_block + q});
          } else {
            made.places.emplace_back();
          }
        }
      }
    }
  }
  const auto wide = static_cast<std::int64_t>(width);
  made.indices = &s.tensor(shape.index, {shape.rows, wide}, {std::max<std::int64_t>(1, wide), 1});
  s.fill(*made.indices, as_numbers(indices));
  made.values = &values_of(s, shape.type, {shape.rows * ell_block, wide * ell_block}, made.places);
  made.a.rows = shape.rows * ell_block;
  made.a.columns = shape.columns * ell_block;
  return made;
}

test_sparse sliced_ell(scene& s, const sparse_shape& shape, const std::vector<numbers>& rows) {
  test_sparse made;
  numbers offsets{0};
  numbers indices;
  for (std::size_t first = 0; first < rows.size(); first += slice_rows) {
    std::size_t width = 0;
    for (std::size_t i = first; i < std::min(rows.size(), first + slice_rows); ++i)
      width = std::max(width, rows[i].size());
    for (std::size_t k = 0; k < width; ++k) {
      for (std::size_t i = first; i < first + slice_rows; ++i) {
        const bool has = i < rows.size() && k < rows[i].size();
        indices.push_back(has ? rows[i][k] : -1);
        made.places.push_back(has ? test_sparse::place{static_cast<std::int64_t>(i), rows[i][k]}
                                  : test_sparse::place{});
      }
    }
    offsets.push_back(static_cast<std::int64_t>(indices.size()));
  }
  made.offsets = &integers(s, shape.index, offsets);
  made.indices = &integers(s, shape.index, indices);
  made.values = &values_of(s, shape.type, {static_cast<std::int64_t>(indices.size())}, made.places);
  made.a.rows = shape.rows;
  made.a.columns = shape.columns;
  made.a.slice_rows = slice_rows;
  return made;
}

matrix summed(const test_sparse& of, bool magnitudes) {
  matrix made(of.a.rows, of.a.columns);
  for (std::size_t e = 0; e < of.places.size(); ++e) {
    if (of.places[e].row < 0) continue;
    const number v = of.values->values[e];
    made(of.places[e].row, of.places[e].column) +=
        magnitudes ? number(std::abs(v.real()) + std::abs(v.imag())) : v;
  }
  return made;
}

}  // namespace

matrix test_sparse::dense() const { return summed(*this, false); }
matrix test_sparse::dense_magnitude() const { return summed(*this, true); }

std::int64_t test_sparse::most_terms() const {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(a.rows) + 1);
  std::vector<std::int64_t> columns(static_cast<std::size_t>(a.columns) + 1);
  for (const place& p : places) {
    if (p.row < 0) continue;
    ++rows[static_cast<std::size_t>(p.row)];
    ++columns[static_cast<std::size_t>(p.column)];
  }
  return std::max(std::ranges::max(rows), std::ranges::max(columns));
}

test_sparse sparse_of(scene& s, const sparse_shape& shape) {
  sparse_shape by_rows = shape;
  if (shape.format == sparse_format::csc) std::swap(by_rows.rows, by_rows.columns);
  const std::vector<numbers> rows = random_rows(s, by_rows);
  test_sparse made;
  switch (shape.format) {
    case sparse_format::csr:
    case sparse_format::csc:
    case sparse_format::coo:
      made = compressed(s, shape, rows);
      break;
    case sparse_format::bsr:
      made = blocks(s, shape, rows);
      break;
    case sparse_format::blocked_ell:
      made = blocked_ell(s, shape, rows);
      break;
    case sparse_format::sliced_ell:
      made = sliced_ell(s, shape, rows);
      break;
  }
  made.a.format = shape.format;
  take_views(made);
  return made;
}

test_sparse sparse_of(scene& s, const sparse_shape& shape,
                      const std::vector<sparse_element>& elements) {
  const bool by_columns = shape.format == sparse_format::csc;
  std::vector<numbers> rows(static_cast<std::size_t>(by_columns ? shape.columns : shape.rows));
  for (const sparse_element& e : elements)
    rows[static_cast<std::size_t>(by_columns ? e.column : e.row)].push_back(by_columns ? e.row
                                                                                       : e.column);
  test_sparse made = compressed(s, shape, rows);
  made.a.format = shape.format;
  take_views(made);
  return made;
}

test_sparse room_for(scene& s, const sparse_shape& shape, std::int64_t capacity) {
  test_sparse made;
  made.a.format = shape.format;
  made.a.rows = shape.rows;
  made.a.columns = shape.columns;
  if (shape.format == sparse_format::coo) {
    made.row_indices = &s.vector(shape.index, capacity);
  } else {
    made.offsets = &s.vector(shape.index,
                             (shape.format == sparse_format::csc ? shape.columns : shape.rows) + 1);
  }
  made.indices = &s.vector(shape.index, capacity);
  made.values = &s.vector(shape.type, capacity);
  take_views(made);
  return made;
}

test_tensor& integers(scene& s, dtype index, const std::vector<std::int64_t>& values) {
  test_tensor& t = s.vector(index, static_cast<std::int64_t>(values.size()));
  s.fill(t, as_numbers(values));
  return t;
}

std::vector<std::int64_t> integers_now(scene& s, const test_tensor& t) {
  std::vector<std::int64_t> values;
  for (const number& v : s.elements_now(t))
    values.push_back(static_cast<std::int64_t>(v.real()));
  return values;
}

std::string case_name(const sparse_shape& shape, std::string_view what) {
  constexpr std::string_view formats[] = {"csr", "csc", "coo", "bsr", "blocked_ell", "sliced_ell"};
  std::string text(formats[static_cast<std::size_t>(shape.format)]);
  for (const std::string_view part : {to_string(shape.type), to_string(shape.index), what,
                                      std::string_view(shape.ordered ? "ordered" : "any order")})
    text.append(" ").append(part);
  return text + " [" + std::to_string(shape.rows) + ", " + std::to_string(shape.columns) + "]";
}

}  // namespace troupe::conformance
