#include "matrices.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>

namespace troupe::conformance {
namespace {

using extents = std::vector<std::int64_t>;

extents with(extents batch, std::initializer_list<std::int64_t> own) {
  batch.insert(batch.end(), own);
  return batch;
}

extents packed_strides(const extents& size) {
  extents strides(size.size());
  std::int64_t step = 1;
  for (std::size_t d = size.size(); d-- > 0;) {
    strides[d] = step;
    step *= std::max<std::int64_t>(size[d], 1);
  }
  return strides;
}

wide_matrix::number draw(scene& s, dtype type) {
  const number v = s.random(type);
  return {v.real(), v.imag()};
}

/// Multiplies from the left by some random reflections: a unitary matrix.
void reflect(scene& s, dtype type, wide_matrix& a) {
  for (int times = 0; times < 3; ++times) {
    std::vector<wide_matrix::number> v(static_cast<std::size_t>(a.rows));
    long double length = 0;
    for (auto& one : v) {
      one = draw(s, type);
      length += std::norm(one);
    }
    if (length == 0) return;
    for (std::int64_t j = 0; j < a.columns; ++j) {
      wide_matrix::number along = 0;
      for (std::int64_t i = 0; i < a.rows; ++i)
        along += std::conj(v[static_cast<std::size_t>(i)]) * a(i, j);
      for (std::int64_t i = 0; i < a.rows; ++i)
        a(i, j) -= v[static_cast<std::size_t>(i)] * along * (2 / length);
    }
  }
}

double value_of(spectrum what, std::int64_t i, std::int64_t n) {
  const double part = n > 1 ? static_cast<double>(i) / static_cast<double>(n - 1) : 0;
  switch (what) {
    case spectrum::random:
    case spectrum::identity:
      return 1;
    case spectrum::large:
      return std::pow(1e8, 1 - part);
    case spectrum::small:
      return std::pow(1e-8, part);
    case spectrum::deficient:
      return i < (n + 1) / 2 ? 1 + part : 0;
    case spectrum::repeated:
      return static_cast<double>(1 + i * 3 / std::max<std::int64_t>(n, 1));
  }
  return 1;
}

void each_matrix(scene& s, test_tensor& t, const std::function<void(wide_matrix&)>& change) {
  std::vector<number> values = t.values;
  const int rank = t.view.rank();
  wide_matrix one(t.view.extent(rank - 2), t.view.extent(rank - 1));
  for (std::size_t first = 0; first < values.size(); first += one.values.size()) {
    for (std::size_t i = 0; i < one.values.size(); ++i)
      one.values[i] = {values[first + i].real(), values[first + i].imag()};
    change(one);
    for (std::size_t i = 0; i < one.values.size(); ++i) {
      values[first + i] = {static_cast<double>(one.values[i].real()),
                           static_cast<double>(one.values[i].imag())};
    }
  }
  s.fill(t, values);
}

}  // namespace

test_tensor& matrices(scene& s, dtype type, const extents& batch, std::int64_t m, std::int64_t n,
                      arrangement how) {
  const extents size = with(batch, {m, n});
  const std::int64_t rows = std::max<std::int64_t>(m, 1);
  const std::int64_t columns = std::max<std::int64_t>(n, 1);
  extents strides(size.size());
  const auto set = [&](std::int64_t of_row, std::int64_t of_column) {
    strides[size.size() - 2] = of_row;
    strides[size.size() - 1] = of_column;
  };
  switch (how) {
    case arrangement::row:
      set(columns, 1);
      break;
    case arrangement::column:
      set(1, rows);
      break;
    case arrangement::row_padded:
      set(columns + 3, 1);
      break;
    case arrangement::column_padded:
      set(1, rows + 3);
      break;
    case arrangement::spread:
      set(2, 2 * rows + 5);
      break;
  }
  const bool gaps = how != arrangement::row && how != arrangement::column;
  std::int64_t step = how == arrangement::row || how == arrangement::row_padded
                          ? strides[size.size() - 2] * rows
                          : strides[size.size() - 1] * columns;
  for (std::size_t d = batch.size(); d-- > 0;) {
    if (gaps) step += 4;
    strides[d] = step;
    step *= std::max<std::int64_t>(batch[d], 1);
  }
  return s.tensor(type, size, strides);
}

test_tensor& vectors(scene& s, dtype type, const extents& batch, std::int64_t n) {
  const extents size = with(batch, {n});
  return s.tensor(type, size, packed_strides(size));
}
test_tensor& numbers(scene& s, dtype type, const extents& batch) {
  return s.tensor(type, batch, packed_strides(batch));
}

void shape_values(scene& s, test_tensor& t, spectrum what) {
  if (what == spectrum::random) return;
  each_matrix(s, t, [&](wide_matrix& a) {
    const std::int64_t k = std::min(a.rows, a.columns);
    wide_matrix made(a.rows, a.columns);
    for (std::int64_t i = 0; i < k; ++i)
      made(i, i) = value_of(what, i, k);
    if (what != spectrum::identity) {
      reflect(s, t.view.type(), made);
      made = adjoint(made);
      reflect(s, t.view.type(), made);
      made = adjoint(made);
    }
    a = made;
  });
}

void scale_values(scene& s, test_tensor& t, double by) {
  std::vector<number> values = t.values;
  for (number& v : values)
    v *= by;
  s.fill(t, values);
}

void make_hermitian(scene& s, test_tensor& t, spectrum what, bool positive) {
  each_matrix(s, t, [&](wide_matrix& a) {
    const std::int64_t n = a.rows;
    if (what == spectrum::random) {
      // Its eigenvalues lie within the square root of n, as long as elements do within 1.
      const wide_matrix other = adjoint(a);
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j)
          a(i, j) = (a(i, j) + other(i, j)) / 2.0L;
        if (positive) a(i, i) += 2 * std::sqrt(static_cast<long double>(n));
      }
      return;
    }
    wide_matrix made(n, n);
    for (std::int64_t i = 0; i < n; ++i) {
      const double value = value_of(what, i, n);
      made(i, i) = positive ? (value == 0 ? 1 : value)
                            : (i % 2 == 0 || what == spectrum::identity ? value : -value);
    }
    if (what != spectrum::identity) {
      // U · (U · D)ᴴ, with the same reflections.
      const std::mt19937_64 same = s.generator();
      reflect(s, t.view.type(), made);
      made = adjoint(made);
      s.generator() = same;
      reflect(s, t.view.type(), made);
    }
    for (std::int64_t i = 0; i < n; ++i) {
      made(i, i) = made(i, i).real();
      for (std::int64_t j = 0; j < i; ++j)
        made(i, j) = std::conj(made(j, i));
    }
    a = made;
  });
}

matrix matrix_now(scene& s, const test_tensor& t, std::int64_t i) { return s.now(t, i); }

matrix vector_now(scene& s, const test_tensor& t, std::int64_t i) {
  const std::int64_t n = t.view.extent(t.view.rank() - 1);
  const std::vector<number> all = s.elements_now(t);
  matrix one(n, 1);
  std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(i * n), n, one.values.begin());
  return one;
}

void expect_small(scene& s, double ratio, std::string_view what) {
  if (!(ratio < threshold)) {
    ADD_FAILURE() << what << " has the ratio " << ratio << ", not below " << threshold << s.note();
  }
}

std::string case_name(dtype type, std::int64_t m, std::int64_t n, arrangement how, spectrum what) {
  constexpr const char* hows[] = {"row", "column", "row padded", "column padded", "spread"};
  constexpr const char* whats[] = {"random", "large", "small", "deficient", "repeated", "identity"};
  return std::string(to_string(type)) + " [" + std::to_string(m) + ", " + std::to_string(n) + "] " +
         hows[static_cast<int>(how)] + ' ' + whats[static_cast<int>(what)];
}

void expect_numerical(scene& s, const result<void>& answer, std::string_view message) {
  ASSERT_FALSE(answer) << s.note();
  EXPECT_EQ(to_string(answer.error().code), to_string(errc::numerical)) << s.note();
  EXPECT_EQ(answer.error().message, message) << s.note();
}

}  // namespace troupe::conformance
