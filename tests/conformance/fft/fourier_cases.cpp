#include "fourier_cases.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace troupe::conformance {
namespace {

std::vector<std::size_t> fastest_last(std::size_t rank, arrangement a) {
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), 0u);
  if (a == arrangement::reversed) std::ranges::reverse(order);
  if (a == arrangement::rotated && rank > 1) std::swap(order[rank - 1], order[rank - 2]);
  return order;
}

/// In numbers.
scene::extents strides_of(const scene::extents& size, arrangement a) {
  const bool gaps = a == arrangement::gaps;
  scene::extents strides(size.size());
  std::int64_t step = gaps ? 2 : 1;
  const std::vector<std::size_t> order = fastest_last(size.size(), a);
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = step;
    step = step * std::max<std::int64_t>(size[order[i]], 1);
    if (gaps || a == arrangement::rotated) step += 3;
  }
  return strides;
}

std::vector<number> in_complex_pairs(const std::vector<number>& elements) {
  std::vector<number> pairs;
  for (std::size_t i = 0; i < elements.size(); i += 2)
    pairs.emplace_back(elements[i].real(), elements[i + 1].real());
  return pairs;
}

bool in_pairs(const test_tensor& t, bool complex) { return complex && is_half(t.view.type()); }

}  // namespace

bool is_half(dtype precision) { return precision == dtype::f16 || precision == dtype::bf16; }

dtype element_type(dtype precision, bool complex) {
  if (!complex || is_half(precision)) return precision;
  return precision == dtype::f32 ? dtype::c64 : dtype::c128;
}

test_tensor& numbers(scene& s, dtype precision, bool complex, const scene::extents& size,
                     arrangement a) {
  scene::extents extents = size;
  scene::extents strides = strides_of(size, a);
  if (complex && is_half(precision)) {
    for (std::int64_t& stride : strides)
      stride *= 2;
    extents.push_back(2);
    strides.push_back(1);
  }
  return s.tensor(element_type(precision, complex), extents, strides);
}

test_tensor& elements(scene& s, dtype type, const scene::extents& size, arrangement a) {
  return s.tensor(type, size, strides_of(size, a));
}

void fill_numbers(scene& s, test_tensor& t, bool complex, const std::vector<number>& values) {
  if (!in_pairs(t, complex)) return s.fill(t, values);
  std::vector<number> elements;
  for (const number& one : values) {
    elements.emplace_back(one.real());
    elements.emplace_back(one.imag());
  }
  s.fill(t, elements);
}

std::vector<number> numbers_before(const test_tensor& t, bool complex) {
  return in_pairs(t, complex) ? in_complex_pairs(t.values) : t.values;
}

std::vector<number> numbers_now(scene& s, const test_tensor& t, bool complex) {
  const std::vector<number> elements = s.elements_now(t);
  return in_pairs(t, complex) ? in_complex_pairs(elements) : elements;
}

std::int64_t fourier_case::transformed_numbers() const {
  std::int64_t count = 1;
  for (std::size_t d = size.size() - static_cast<std::size_t>(rank); d < size.size(); ++d)
    count *= size[d];
  return count;
}

double fourier_case::factor() const {
  const auto n = static_cast<double>(transformed_numbers());
  if (scale == fft::normalization::by_n) return 1 / n;
  return scale == fft::normalization::ortho ? 1 / std::sqrt(n) : 1;
}

scene::extents fourier_case::half() const {
  scene::extents halved_size = size;
  halved_size.back() = halved_size.back() / 2 + 1;
  return halved_size;
}

std::string fourier_case::text() const {
  std::string all(to_string(precision));
  for (const std::int64_t n : size)
    all += " " + std::to_string(n);
  return all + " rank " + std::to_string(rank) +
         (direction == fft::direction::forward ? " forward" : " inverse") + " scale " +
         std::to_string(static_cast<int>(scale));
}

void expect_transform(scene& s, const fourier_case& c, const std::vector<number>& x,
                      const std::vector<number>& actual, bool halved_output) {
  std::vector<number> expected = transformed(x, c.size, c.rank, c.direction);
  if (halved_output) expected = halved(expected, c.size);
  ASSERT_EQ(actual.size(), expected.size()) << s.note();
  if (expected.empty()) return;
  const auto block = static_cast<std::size_t>(c.transformed_numbers());
  const std::size_t out_block = expected.size() / (x.size() / block);
  const auto terms = static_cast<std::int64_t>(std::ceil(std::log2(static_cast<double>(block))));
  double length = 0;  // the norm of the numbers that are transformed together
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (i % out_block == 0) {
      double squares = 0;
      for (std::size_t j = i / out_block * block; j < (i / out_block + 1) * block; ++j)
        squares += std::norm(x[j]);
      length = std::sqrt(squares);
    }
    s.expect_near(c.precision, actual[i], expected[i] * c.factor(), length * c.factor(), terms,
                  c.precision, "number " + std::to_string(i));
    if (testing::Test::HasFailure()) return;  // the first wrong number says enough
  }
}

std::vector<fourier_case> fourier_cases() {
  struct extents_and_rank {
    scene::extents size;
    int rank;
  };
  // clang-format off
  const std::vector<extents_and_rank> any = {
      {{1}, 1}, {{2}, 1}, {{7}, 1}, {{12}, 1}, {{31}, 1}, {{100}, 1},
      {{3, 10}, 1}, {{0, 5}, 1}, {{2, 3, 9}, 1}, {{2, 1, 3, 1, 4}, 1}, {{17, 18, 4}, 1},
      {{4, 6}, 2}, {{5, 1}, 2}, {{1, 5}, 2}, {{17, 13}, 2}, {{3, 5, 7}, 2}, {{2, 2, 6, 4}, 2},
      {{3, 4, 5}, 3}, {{2, 3, 2, 5}, 3}, {{0, 2, 2, 2}, 3}, {{2, 2, 2, 3, 3}, 3}};
  const std::vector<extents_and_rank> powers = {
      {{1}, 1}, {{2}, 1}, {{64}, 1}, {{3, 16}, 1}, {{0, 4}, 1}, {{2, 3, 8}, 1}, {{17, 18, 4}, 1},
      {{4, 8}, 2}, {{3, 2, 16}, 2}, {{2, 4, 8}, 3}, {{2, 3, 4, 2, 4}, 3}};
  // clang-format on
  std::vector<fourier_case> all;
  for (const dtype precision : precisions) {
    for (const auto& [size, rank] : is_half(precision) ? powers : any) {
      for (const auto scale : normalizations)
        all.push_back({.precision = precision, .size = size, .rank = rank, .scale = scale});
    }
  }
  return all;
}

}  // namespace troupe::conformance
