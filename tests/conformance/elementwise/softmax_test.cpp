#include "named_cases.hpp"

#include <troupe/elementwise.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace troupe::conformance {
namespace {

using namespace elementwise_reference;

std::int64_t first_axis(const tensor_case& c) {
  return c.axis < 0 ? c.axis + static_cast<std::int64_t>(c.size.size()) : c.axis;
}

reals softmax_of(const reals& x, const tensor_case& c, bool logarithm) {
  reals y(x.size());
  for (const auto& row : rows_of(c.size, {first_axis(c)})) {
    double most = -std::numeric_limits<double>::infinity();
    for (const std::size_t i : row)
      most = std::max(most, x[i]);
    double sum = 0;
    for (const std::size_t i : row)
      sum += std::exp(x[i] - most);
    for (const std::size_t i : row)
      y[i] = logarithm ? x[i] - most - std::log(sum) : std::exp(x[i] - most) / sum;
  }
  return y;
}

reals gradient_of(const reals& y, const reals& dy, const tensor_case& c, bool logarithm) {
  reals dx(y.size());
  for (const auto& row : rows_of(c.size, {first_axis(c)})) {
    double sum = 0;
    for (const std::size_t i : row)
      sum += logarithm ? dy[i] : y[i] * dy[i];
    for (const std::size_t i : row)
      dx[i] = logarithm ? dy[i] - std::exp(y[i]) * sum : y[i] * (dy[i] - sum);
  }
  return dx;
}

template <class Forward, class Backward>
void check_pair(bool logarithm) {
  for (const dtype type : norm_types) {
    for (const tensor_case& c : tensor_cases()) {
      for (const bool in_place : {false, true}) {
        scene s;
        name_case(s, type, c.size, in_place ? 1 : 0);
        auto& x = tensor_of(s, type, c);
        auto& y = in_place ? s.again(x, x.view) : tensor_of(s, type, c);
        s.run(Forward{.x = x.view, .y = y.view, .axis = c.axis});
        expect_reals(s, y, softmax_of(content(x), c, logarithm));
      }
      for (const int in_place : {0, 1, 2}) {
        scene s;
        name_case(s, type, c.size, in_place);
        auto& y = tensor_of(s, type, c);
        std::vector<number> results;
        for (const double one : softmax_of(content(y), c, logarithm))
          results.emplace_back(one);
        s.fill(y, results);
        auto& dy = tensor_of(s, type, c);
        auto& dx = in_place == 0   ? tensor_of(s, type, c)
                   : in_place == 1 ? s.again(y, y.view)
                                   : s.again(dy, dy.view);
        s.run(Backward{.y = y.view, .dy = dy.view, .dx = dx.view, .axis = c.axis});
        expect_reals(s, dx, gradient_of(content(y), content(dy), c, logarithm));
      }
    }
  }
}

TEST(ElementwiseSoftmax, AndItsGradientAreThoseOfTheDefinition) {
  check_pair<elementwise::softmax, elementwise::softmax_backward>(false);
}
TEST(ElementwiseLogSoftmax, AndItsGradientAreThoseOfTheDefinition) {
  check_pair<elementwise::log_softmax, elementwise::log_softmax_backward>(true);
}

TEST(ElementwiseSoftmax, OfLargeNumbersDoesNotOverflow) {
  scene s;
  auto& x = s.vector(dtype::f32, 3);
  s.fill(x, {1e30, -std::numeric_limits<double>::infinity(), 1e30});
  auto& y = s.vector(dtype::f32, 3);
  s.run(elementwise::softmax{.x = x.view, .y = y.view});
  expect_reals(s, y, {0.5, 0, 0.5});
}

TEST(ElementwiseSoftmax, RefusesWhatDoesNotFit) {
  scene s;
  auto& x = s.tensor(dtype::f32, {3, 4}, {4, 1});
  auto& y = s.tensor(dtype::f32, {4, 3}, {3, 1});
  auto& z = s.tensor(dtype::f16, {3, 4}, {4, 1});
  using elementwise::softmax;
  s.refuse(softmax{.x = x.view, .y = y.view}, errc::shape_mismatch, "y must have the extents");
  s.refuse(softmax{.x = x.view, .y = z.view}, errc::type_mismatch);
  s.refuse(softmax{.x = x.view, .y = x.view, .axis = 2}, errc::invalid_argument,
           "axis must be from -2 to 1; it is 2");
  s.refuse(softmax{.x = x.view, .y = x.view.transpose()}, errc::shape_mismatch);
}

}  // namespace
}  // namespace troupe::conformance
