#include "named_loops.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <sstream>

namespace troupe::conformance::named {

void for_each_index(const std::vector<operand>& operands, const std::string& result,
                    const extents& size,
                    const std::function<void(std::size_t, const std::vector<number>&)>& element) {
  std::string modes = result;
  std::vector<std::int64_t> extent(size.begin(), size.end());
  for (const operand& one : operands) {
    for (std::size_t d = 0; d < one.modes.size(); ++d) {
      const std::int64_t own = one.tensor->view.extent(static_cast<int>(d));
      const std::size_t at = modes.find(one.modes[d]);
      if (at == std::string::npos) {
        modes += one.modes[d];
        extent.push_back(own);
      } else if (extent[at] == 1) {
        extent[at] = own;
      }
    }
  }
  if (std::ranges::find(extent, 0) != extent.end()) return;
  // How far a step of each mode goes in each tensor, the result first.
  std::vector<extents> steps;
  const auto add_steps = [&](const std::string& names, std::span<const std::int64_t> own) {
    extents& made = steps.emplace_back(modes.size());
    std::int64_t step = 1;
    for (std::size_t d = names.size(); d-- > 0; step *= own[d])
      made[modes.find(names[d])] += own[d] == 1 ? 0 : step;
  };
  add_steps(result, size);
  for (const operand& one : operands)
    add_steps(one.modes, one.tensor->view.extents());
  std::vector<std::int64_t> index(modes.size(), 0);
  std::vector<std::int64_t> at(steps.size(), 0);
  std::vector<number> values(operands.size());
  for (;;) {
    for (std::size_t i = 0; i < operands.size(); ++i)
      values[i] = operands[i].tensor->values[static_cast<std::size_t>(at[i + 1])];
    element(static_cast<std::size_t>(at[0]), values);
    std::size_t d = modes.size();
    for (; d > 0; --d) {
      const std::int64_t done = ++index[d - 1] < extent[d - 1] ? 1 : 1 - extent[d - 1];
      for (std::size_t i = 0; i < at.size(); ++i)
        at[i] += done * steps[i][d - 1];
      if (done == 1) break;
      index[d - 1] = 0;
    }
    if (d == 0) return;
  }
}

sums summed(const std::vector<operand>& operands, const std::string& result, const extents& size) {
  const auto count = std::accumulate(
      size.begin(), size.end(), std::size_t{1},
      [](std::size_t all, std::int64_t n) { return all * static_cast<std::size_t>(n); });
  sums made{std::vector<number>(count), std::vector<double>(count), 0};
  std::int64_t all = 0;
  for_each_index(operands, result, size, [&](std::size_t at, const std::vector<number>& x) {
    number product = 1;
    double magnitude = 1;
    for (const number& one : x) {
      product *= one;
      magnitude *= std::abs(one.real()) + std::abs(one.imag());
    }
    made.values[at] += product;
    made.magnitudes[at] += magnitude;
    ++all;
  });
  made.terms = count == 0 ? 0 : all / static_cast<std::int64_t>(count);
  return made;
}

sums scaled(sums of, const scalar& alpha, const scalar& beta, const std::vector<number>& c) {
  for (std::size_t i = 0; i < of.values.size(); ++i) {
    of.values[i] *= as_number(alpha);
    of.magnitudes[i] *= std::abs(as_number(alpha)) * 2;
    if (beta.is_zero()) continue;
    of.values[i] += as_number(beta) * c[i];
    of.magnitudes[i] += std::abs(as_number(beta)) * 2 * std::abs(c[i]);
  }
  return of;
}

std::string joined(std::initializer_list<std::string_view> texts) {
  std::string all;
  for (const std::string_view one : texts)
    all += one;
  return all;
}

dtype compute_of(dtype type) {
  return type == dtype::f16 || type == dtype::bf16 ? dtype::f32 : real_of(type);
}

void expect_sums(scene& s, const test_tensor& d, const sums& expected, int roundings) {
  const dtype type = d.view.type();
  const double unit = epsilon(real_of(type));
  const double unit_of_sums = epsilon(compute_of(type));
  const std::vector<number> now = s.elements_now(d);
  ASSERT_EQ(now.size(), expected.values.size());
  for (std::size_t i = 0; i < now.size(); ++i) {
    const double allowed =
        (4 * static_cast<double>(expected.terms + 8) * unit_of_sums + roundings * unit) *
            expected.magnitudes[i] +
        unit * std::abs(expected.values[i]) + smallest(real_of(type));
    const double off = std::abs(now[i] - expected.values[i]);
    ASSERT_TRUE(off <= allowed) << "element " << i << " is " << now[i] << ", expected "
                                << expected.values[i] << ", allowed " << allowed << s.note();
  }
}

extents sizes::size(const std::string& modes) const {
  extents all;
  for (const char mode : modes)
    all.push_back(of.at(mode));
  return all;
}

extents random_strides(std::mt19937_64& random, const extents& size) {
  std::vector<std::size_t> order(size.size());
  std::iota(order.begin(), order.end(), 0);
  if (random() % 3 != 0) std::ranges::shuffle(order, random);
  const bool gaps = random() % 2 == 0;
  extents strides(size.size());
  std::int64_t next = gaps && random() % 3 == 0 ? 2 : 1;
  for (const std::size_t d : order) {
    strides[d] = next;
    next *= std::max<std::int64_t>(size[d], 1);
    if (gaps) next += static_cast<std::int64_t>(random() % 3);
  }
  return strides;
}

std::string random_list(std::mt19937_64& random, const std::string& letters, int most) {
  std::string made;
  const auto count = static_cast<int>(random() % static_cast<unsigned>(most + 1));
  while (static_cast<int>(made.size()) < count) {
    const char mode = letters[random() % letters.size()];
    const auto has = std::ranges::count(made, mode);
    if (has == 0 || (has == 1 && random() % 5 == 0)) made += mode;
  }
  return made;
}
std::string random_result(std::mt19937_64& random, const std::string& all) {
  const std::set<char> modes(all.begin(), all.end());
  std::string made;
  for (const char mode : modes) {
    if (random() % 3 != 0 && made.size() < 8) made += mode;
  }
  std::ranges::shuffle(made, random);
  return made;
}
sizes random_sizes(std::mt19937_64& random, const std::string& letters) {
  sizes of;
  constexpr std::int64_t drawn[] = {1, 1, 2, 3, 4, 5};
  for (const char mode : letters)
    of.of[mode] = random() % 60 == 0 ? 0 : drawn[random() % std::size(drawn)];
  return of;
}

sizes narrowed(std::mt19937_64& random, sizes of, const std::string& others) {
  for (const char mode : others) {
    if (random() % 8 == 0) of.of[mode] = 1;
  }
  return of;
}

test_tensor& make(scene& s, dtype type, const std::string& modes, const sizes& of, bool packed) {
  const extents size = of.size(modes);
  extents strides(size.size());
  std::int64_t next = 1;
  for (std::size_t d = size.size(); d-- > 0; next *= std::max<std::int64_t>(size[d], 1))
    strides[d] = next;
  return s.tensor(type, size, packed ? strides : random_strides(s.generator(), size));
}

}  // namespace troupe::conformance::named
