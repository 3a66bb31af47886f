#include "named_cases.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace troupe::conformance::elementwise_reference {

std::span<const tensor_case> tensor_cases() {
  static const std::vector<tensor_case> all = {
      {{1}, {1}, 0},
      {{33}, {2}, -1},
      {{3, 1025}, {1025, 1}, -1},
      {{2, 5, 17}, {200, 40, 2}, 1},
      {{7, 6}, {1, 8}, 0},
      {{2, 3, 4, 5}, {60, 20, 5, 1}, -3},
      {{0, 4}, {4, 1}, 1},
      {{4, 0}, {1, 1}, 1},
  };
  return all;
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

reals content(const test_tensor& t) {
  reals all;
  for (const number& one : t.values)
    all.push_back(one.real());
  return all;
}

std::vector<std::vector<std::size_t>> rows_of(const extents& size, const extents& axes) {
  std::int64_t count = 1;
  for (const std::int64_t n : size)
    count *= n;
  std::int64_t row_count = 1;
  const auto in_row = [&](std::size_t d) {
    return std::ranges::find(axes, static_cast<std::int64_t>(d)) != axes.end();
  };
  for (std::size_t d = 0; d < size.size(); ++d)
    row_count *= in_row(d) ? 1 : size[d];
  std::vector<std::vector<std::size_t>> rows(static_cast<std::size_t>(row_count));
  for (std::int64_t flat = 0; flat < count; ++flat) {
    std::int64_t row = 0;
    std::int64_t below = count;
    for (std::size_t d = 0; d < size.size(); ++d) {
      below /= size[d];
      if (!in_row(d)) row = row * size[d] + flat / below % size[d];
    }
    rows[static_cast<std::size_t>(row)].push_back(static_cast<std::size_t>(flat));
  }
  return rows;
}

void expect_reals(scene& s, const test_tensor& t, const reals& expected, double magnitude) {
  const dtype type = t.view.type();
  const double computed = epsilon(type == dtype::f64 ? type : dtype::f32);
  const std::vector<number> now = s.elements_now(t);
  ASSERT_EQ(now.size(), expected.size()) << s.note();
  for (std::size_t i = 0; i < now.size(); ++i) {
    const double is = now[i].real();
    const double want = expected[i];
    if (std::isnan(want) ? std::isnan(is) : is == want) continue;
    const double limit = epsilon(type) * std::abs(want) +
                         64 * computed * (std::abs(want) + magnitude) + smallest(type);
    if (std::abs(is - want) <= limit) continue;
    ADD_FAILURE() << to_string(type) << ", element " << i << " is " << is << ", expected " << want
                  << ", off by " << is - want << ", limit " << limit << s.note();
    return;
  }
}

test_tensor& tensor_of(scene& s, dtype type, const tensor_case& c) {
  return s.tensor(type, c.size, c.strides);
}

void name_case(scene& s, dtype type, const extents& size, std::int64_t detail) {
  std::string text(to_string(type));
  for (const std::int64_t n : size)
    text += " " + std::to_string(n);
  s.name(text + ", case " + std::to_string(detail));
}

dtype wide_type(dtype type) { return type == dtype::f64 ? type : dtype::f32; }

}  // namespace troupe::conformance::elementwise_reference
