#include "named_loops.hpp"

#include <troupe/tensors.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace troupe::conformance {
namespace {

using namespace named;
using tensors::reduce;
using tensors::reduction;

constexpr double infinity = std::numeric_limits<double>::infinity();

double identity_of(reduction op) {
  switch (op) {
    case reduction::sum:
      return 0;
    case reduction::maximum:
      return -infinity;
    case reduction::minimum:
      return infinity;
    case reduction::product:
      return 1;
  }
  return 0;
}

sums reduced(reduction op, const operand& a, const std::string& result, const extents& size) {
  sums made = summed({a}, result, size);
  if (op == reduction::sum) return made;
  std::ranges::fill(made.values, number(identity_of(op)));
  for_each_index({a}, result, size, [&](std::size_t at, const std::vector<number>& x) {
    const double one = x[0].real();
    double now = made.values[at].real();
    now = op == reduction::maximum   ? std::max(now, one)
          : op == reduction::minimum ? std::min(now, one)
                                     : now * one;
    made.values[at] = now;
  });
  for (std::size_t i = 0; i < made.values.size(); ++i)
    made.magnitudes[i] = std::abs(made.values[i]);
  return made;
}

const sizes reduced_sizes{{{'a', 3}, {'b', 5}, {'c', 7}, {'d', 2}, {'k', 300}, {'o', 1}, {'z', 0}}};

TEST(TensorsReduce, IsTheDefinitionForEachTypeAndOperation) {
  const std::pair<std::string, std::string> lists[] = {
      {"ab", "a"},   {"ab", "b"},   {"ab", ""},   {"abc", "ca"},     {"abcd", "db"},
      {"aab", "b"},  {"aab", "ab"}, {"ak", "a"},  {"ka", "a"},       {"ab", "ba"},
      {"aob", "bo"}, {"", ""},      {"bob", "o"}, {"abcdoo", "cod"},
  };
  for (const dtype type : element_types) {
    for (const reduction op :
         {reduction::sum, reduction::maximum, reduction::minimum, reduction::product}) {
      if (is_complex(type) && op != reduction::sum) continue;
      for (const auto& [from, to] : lists) {
        for (const int with : {0, 1, 2}) {  // no c, c apart, c in place
          scene s;
          s.name(joined({from, "->", to, " ", to_string(type), " ",
                         std::to_string(static_cast<int>(op) * 3 + with)}));
          auto& a = make(s, type, from, reduced_sizes, with == 0);
          auto& d = make(s, type, to, reduced_sizes);
          const test_tensor& c = with == 1 ? make(s, type, to, reduced_sizes) : d;
          const scalar alpha = with == 0 ? scalar(1) : factor(type, 1.5, 0.5);
          const scalar beta = with == 0 ? scalar(0) : factor(type, -0.5, 1);
          sums expected = reduced(op, {from, &a}, to, reduced_sizes.size(to));
          for (std::size_t i = 0; i < expected.values.size(); ++i) {
            expected.values[i] *= as_number(alpha);
            expected.magnitudes[i] *= 2 * std::abs(as_number(alpha));
            if (with != 0) {
              expected.values[i] += as_number(beta) * c.values[i];
              expected.magnitudes[i] += 2 * std::abs(c.values[i]) * std::abs(as_number(beta));
            }
          }
          s.run(reduce{.modes = joined({from, "->", to}),
                       .a = a.view,
                       .c = with == 0 ? any_tensor() : c.view,
                       .d = d.view,
                       .alpha = alpha,
                       .beta = beta,
                       .op = op});
          expect_sums(s, d, expected, 0);
        }
      }
    }
  }
}

TEST(TensorsReduce, OfNothingIsTheIdentity) {
  for (const dtype type : {dtype::f32, dtype::f64, dtype::f16, dtype::bf16}) {
    for (const reduction op :
         {reduction::sum, reduction::maximum, reduction::minimum, reduction::product}) {
      scene s;
      auto& a = make(s, type, "az", reduced_sizes);
      auto& d = make(s, type, "a", reduced_sizes);
      s.run(reduce{.modes = "az->a", .a = a.view, .d = d.view, .op = op});
      for (const number& one : s.elements_now(d))
        EXPECT_EQ(one.real(), identity_of(op)) << s.note();
    }
  }
}

TEST(TensorsReduce, NaNsWin) {
  scene s;
  auto& a = s.tensor(dtype::f32, {3, 40}, {40, 1});
  auto& d = s.vector(dtype::f32, 3);
  std::vector<number> values = a.values;
  values[45] = std::numeric_limits<double>::quiet_NaN();
  s.fill(a, values);
  for (const reduction op : {reduction::maximum, reduction::minimum}) {
    s.run(reduce{.modes = "ij->i", .a = a.view, .d = d.view, .op = op});
    const std::vector<number> now = s.elements_now(d);
    EXPECT_FALSE(std::isnan(now[0].real()));
    EXPECT_TRUE(std::isnan(now[1].real()));
  }
}

TEST(TensorsReduce, Refuses) {
  scene s;
  auto& a = s.tensor(dtype::c64, {4, 5}, {5, 1});
  auto& d = s.vector(dtype::c64, 4);
  reduce r{.modes = "ij->i", .a = a.view, .d = d.view};
  reduce product = r;
  product.op = reduction::product;
  s.refuse(product, errc::type_mismatch, "only sums");
  reduce unknown = r;
  unknown.modes = "ij->k";
  s.refuse(unknown, errc::invalid_argument, "'k' at position 4 is in no operand");
  reduce other = r;
  other.modes = "ij->j";
  s.refuse(other, errc::shape_mismatch, "mode 'j' is 5, and 4 in d");
  reduce without_c = r;
  without_c.beta = 2;
  s.refuse(without_c, errc::invalid_argument, "c is not given");
}

}  // namespace
}  // namespace troupe::conformance
