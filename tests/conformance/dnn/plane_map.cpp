#include "plane_map.hpp"

#include <cmath>
#include <numeric>

namespace troupe::conformance {
namespace {

dtype compute_of(dtype type) { return type == dtype::f64 ? dtype::f64 : dtype::f32; }

}  // namespace

numbers image_extents(std::int64_t n, std::int64_t c, const numbers& space) {
  numbers all{n, c};
  all.insert(all.end(), space.begin(), space.end());
  return all;
}

std::int64_t product_of(const numbers& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

void for_each_place(const numbers& extents, const std::function<void(const numbers&)>& f) {
  numbers index(extents.size());
  for (std::int64_t flat = 0; flat < product_of(extents); ++flat) {
    std::int64_t rest = flat;
    for (std::size_t d = extents.size(); d-- > 0;) {
      index[d] = rest % extents[d];
      rest /= extents[d];
    }
    f(index);
  }
}

std::size_t flat_place(const numbers& index, const numbers& extents) {
  std::int64_t flat = 0;
  for (std::size_t d = 0; d < extents.size(); ++d)
    flat = flat * extents[d] + index[d];
  return static_cast<std::size_t>(flat);
}

std::string text_of_numbers(const numbers& list) {
  std::string text = "[";
  for (const std::int64_t n : list)
    text += (text.size() == 1 ? "" : " ") + std::to_string(n);
  return text + "]";
}

plane_map plane_map::of(const std::vector<std::vector<std::vector<double>>>& along) {
  plane_map made;
  for (const auto& one : along) {
    made.out.push_back(static_cast<std::int64_t>(one.size()));
    made.in.push_back(static_cast<std::int64_t>(one.front().size()));
  }
  for_each_place(made.out, [&](const numbers& o) {
    std::vector<double>& row = made.factors.emplace_back();
    for_each_place(made.in, [&](const numbers& i) {
      double factor = 1;
      for (std::size_t d = 0; d < along.size(); ++d)
        factor *= along[d][static_cast<std::size_t>(o[d])][static_cast<std::size_t>(i[d])];
      row.push_back(factor);
    });
  });
  return made;
}

// A factor of interpolation is what a place is beyond a whole number, and has the place's rounding.
static double size_of_term(double factor, double element) {
  return factor == 0 ? 0 : (std::abs(factor) + 0.25) * std::abs(element);
}

void expect_mapped(scene& s, const plane_map& map, const test_tensor& x, const test_tensor& y) {
  const auto now = s.elements_now(y);
  const std::size_t in = map.factors.front().size();
  const std::size_t out = map.factors.size();
  const dtype type = y.view.type();
  for (std::size_t at = 0; at < now.size(); ++at) {
    double expected = 0;
    double bound = 0;
    for (std::size_t i = 0; i < in; ++i) {
      const double factor = map.factors[at % out][i];
      const double element = x.values[at / out * in + i].real();
      expected += factor * element;
      bound += size_of_term(factor, element);
    }
    s.expect_near(type, now[at], expected, bound, static_cast<std::int64_t>(in), compute_of(type),
                  "element " + std::to_string(at));
    if (testing::Test::HasFailure()) return;
  }
}

void expect_transposed(scene& s, const plane_map& map, const test_tensor& dy,
                       const test_tensor& dx) {
  const auto now = s.elements_now(dx);
  const std::size_t in = map.factors.front().size();
  const std::size_t out = map.factors.size();
  const dtype type = dx.view.type();
  for (std::size_t at = 0; at < now.size(); ++at) {
    double expected = 0;
    double bound = 0;
    for (std::size_t o = 0; o < out; ++o) {
      const double factor = map.factors[o][at % in];
      const double element = dy.values[at / in * out + o].real();
      expected += factor * element;
      bound += size_of_term(factor, element);
    }
    s.expect_near(type, now[at], expected, bound, static_cast<std::int64_t>(out), compute_of(type),
                  "element " + std::to_string(at));
    if (testing::Test::HasFailure()) return;
  }
}

std::vector<double> gradient_by_differences(
    const std::function<std::vector<double>(const std::vector<double>&)>& f, std::vector<double> x,
    const std::vector<double>& dy) {
  constexpr double step = 1e-6;
  std::vector<double> gradient(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double before = x[i];
    x[i] = before + step;
    const auto above = f(x);
    x[i] = before - step;
    const auto below = f(x);
    x[i] = before;
    for (std::size_t o = 0; o < dy.size(); ++o)
      gradient[i] += dy[o] * (above[o] - below[o]) / (2 * step);
  }
  return gradient;
}

std::vector<double> reals_of(const std::vector<number>& list) {
  std::vector<double> made;
  for (const number& one : list)
    made.push_back(one.real());
  return made;
}

}  // namespace troupe::conformance
