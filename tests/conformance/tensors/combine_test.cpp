#include "named_loops.hpp"

#include <troupe/tensors.hpp>

#include <algorithm>
#include <cmath>
#include <string>

namespace troupe::conformance {
namespace {

using namespace named;
using tensors::binary;
using tensors::binary_operator;
using tensors::permute;
using tensors::trinary;
using tensors::unary;
using tensors::unary_operator;

constexpr int unary_operators = static_cast<int>(unary_operator::floor) + 1;
constexpr int binary_operators = static_cast<int>(binary_operator::maximum) + 1;

bool takes(unary_operator op, dtype type) {
  return !is_complex(type) || op <= unary_operator::reciprocal;
}
bool takes(binary_operator op, dtype type) {
  return !is_complex(type) || op <= binary_operator::multiply;
}

number applied_to(unary_operator op, number z) {
  const double x = z.real();
  switch (op) {
    case unary_operator::identity:
      return z;
    case unary_operator::negate:
      return -z;
    case unary_operator::conjugate:
      return std::conj(z);
    case unary_operator::square:
      return z * z;
    case unary_operator::reciprocal:
      return number(1) / z;
    case unary_operator::absolute:
      return std::abs(x);
    case unary_operator::square_root:
      return std::sqrt(x);
    case unary_operator::exponential:
      return std::exp(x);
    case unary_operator::logarithm:
      return std::log(x);
    case unary_operator::sine:
      return std::sin(x);
    case unary_operator::cosine:
      return std::cos(x);
    case unary_operator::tangent:
      return std::tan(x);
    case unary_operator::hyperbolic_tangent:
      return std::tanh(x);
    case unary_operator::sigmoid:
      return 1 / (1 + std::exp(-x));
    case unary_operator::relu:
      return std::max(x, 0.0);
    case unary_operator::ceil:
      return std::ceil(x);
    case unary_operator::floor:
      return std::floor(x);
  }
  return z;
}
number applied_to(binary_operator op, number x, number y) {
  switch (op) {
    case binary_operator::add:
      return x + y;
    case binary_operator::subtract:
      return x - y;
    case binary_operator::multiply:
      return x * y;
    case binary_operator::minimum:
      return std::min(x.real(), y.real());
    case binary_operator::maximum:
      return std::max(x.real(), y.real());
  }
  return x;
}

/// Positive numbers of a size of about 1, for which every operator is well conditioned.
void make_positive(scene& s, test_tensor& t) {
  std::vector<number> values;
  values.reserve(t.values.size());
  for (const number& one : t.values)
    values.emplace_back(0.6 + std::abs(one.real()) / 2, one.imag() / 2);
  s.fill(t, values);
}

/// Numbers that were computed one by one.
void expect_elements(scene& s, const test_tensor& d, const std::vector<number>& expected) {
  sums all{expected, {}, 1};
  for (const number& one : expected)
    all.magnitudes.push_back(2 + std::abs(one));
  expect_sums(s, d, all, 0);
}

const sizes combined_sizes{
    {{'a', 3}, {'b', 5}, {'c', 4}, {'d', 2}, {'i', 40}, {'j', 33}, {'o', 1}}};

TEST(TensorsPermute, MovesEveryBitForEachType) {
  const std::pair<std::string, std::string> lists[] = {
      {"ab", "ab"},   {"ab", "ba"},   {"abcd", "dbca"},   {"ij", "ji"},
      {"aib", "iba"}, {"a", "aob"},   {"", "ab"},         {"aab", "ba"},
      {"", ""},       {"iaj", "jai"}, {"abcdo", "odcba"}, {"abcdij", "jcbadi"},
  };
  for (const dtype type : element_types) {
    for (const auto& [from, to] : lists) {
      scene s;
      s.name(joined({from, "->", to, " ", to_string(type)}));
      auto& a = make(s, type, from, combined_sizes, from == "ab");
      auto& d = make(s, type, to, combined_sizes);
      const std::vector<number> expected = summed({{from, &a}}, to, combined_sizes.size(to)).values;
      s.run(permute{.modes = joined({from, "->", to}), .a = a.view, .d = d.view});
      EXPECT_EQ(s.elements_now(d), expected) << s.note();
      if (from == "aab") continue;
      const scalar alpha = factor(type, -1.5, 0.5);
      std::vector<number> times = expected;
      for (number& one : times)
        one *= as_number(alpha);
      s.run(permute{.modes = joined({from, "->", to}), .a = a.view, .d = d.view, .alpha = alpha});
      expect_elements(s, d, times);
    }
  }
}

TEST(TensorsPermute, Converts) {
  for (const dtype half : {dtype::f16, dtype::bf16}) {
    for (const bool widens : {true, false}) {
      scene s;
      auto& a = make(s, widens ? half : dtype::f32, "aib", combined_sizes);
      auto& d = make(s, widens ? dtype::f32 : half, "bia", combined_sizes);
      const sums expected = summed({{"aib", &a}}, "bia", combined_sizes.size("bia"));
      s.run(permute{.modes = "aib->bia", .a = a.view, .d = d.view});
      expect_sums(s, d, expected, 0);
    }
  }
}

TEST(TensorsUnary, IsTheDefinitionForEachTypeAndOperator) {
  for (const dtype type : element_types) {
    for (int n = 0; n < unary_operators; ++n) {
      const auto op = static_cast<unary_operator>(n);
      if (!takes(op, type)) continue;
      for (const bool in_place : {false, true}) {
        scene s;
        s.name(std::string(to_string(type)) + " " + std::to_string(n * 2 + (in_place ? 1 : 0)));
        const std::string to = in_place ? "aib" : "bai";
        auto& a = make(s, type, "aib", combined_sizes, !in_place);
        auto& d = in_place ? a : make(s, type, to, combined_sizes);
        make_positive(s, a);
        const scalar alpha = factor(type, 0.75, -0.5);
        std::vector<number> expected(a.values.size());
        for_each_index({{"aib", &a}}, to, combined_sizes.size(to),
                       [&](std::size_t at, const auto& x) {
                         expected[at] = as_number(alpha) * applied_to(op, x[0]);
                       });
        s.run(unary{.modes = "aib->" + to, .a = a.view, .d = d.view, .alpha = alpha, .op = op});
        expect_elements(s, d, expected);
      }
    }
  }
}

TEST(TensorsBinary, IsTheDefinitionForEachTypeAndOperator) {
  const std::pair<std::string, std::string> lists[] = {
      {"ab", "ba"}, {"ai", "ia"}, {"a", "ab"}, {"", "ba"}, {"aob", "bo"}};
  for (const dtype type : element_types) {
    for (int n = 0; n < binary_operators; ++n) {
      const auto op = static_cast<binary_operator>(n);
      if (!takes(op, type)) continue;
      for (const auto& [first, second] : lists) {
        scene s;
        s.name(joined({first, ",", second, " ", to_string(type), std::to_string(n)}));
        auto& a = make(s, type, first, combined_sizes, op == binary_operator::add);
        auto& c = make(s, type, second, combined_sizes);
        const std::string to = first.size() > second.size() ? first : second;
        auto& d = make(s, type, to, combined_sizes);
        make_positive(s, a);
        const scalar alpha = factor(type, 0.5, 1);
        const scalar gamma = factor(type, -0.75, 0.5);
        std::vector<number> expected(d.values.size());
        for_each_index({{first, &a}, {second, &c}}, to, combined_sizes.size(to),
                       [&](std::size_t at, const auto& x) {
                         expected[at] = applied_to(
                             op, as_number(alpha) * (number(1) / x[0]),
                             as_number(gamma) * applied_to(unary_operator::square, x[1]));
                       });
        s.run(binary{.modes = joined({first, ",", second, "->", to}),
                     .a = a.view,
                     .c = c.view,
                     .d = d.view,
                     .alpha = alpha,
                     .gamma = gamma,
                     .op_a = unary_operator::reciprocal,
                     .op_c = unary_operator::square,
                     .op = op});
        expect_elements(s, d, expected);
      }
      // In place of the second.
      scene s;
      auto& a = make(s, type, "ba", combined_sizes);
      auto& d = make(s, type, "ab", combined_sizes);
      std::vector<number> expected(d.values.size());
      for_each_index(
          {{"ba", &a}, {"ab", &d}}, "ab", combined_sizes.size("ab"),
          [&](std::size_t at, const auto& x) { expected[at] = applied_to(op, x[0], x[1]); });
      s.run(binary{.modes = "ba,ab->ab", .a = a.view, .c = d.view, .d = d.view, .op = op});
      expect_elements(s, d, expected);
    }
  }
}

TEST(TensorsTrinary, IsTheDefinitionForEachTypeAndOperators) {
  for (const dtype type : element_types) {
    for (int n = 0; n < binary_operators * binary_operators; ++n) {
      const auto op_ab = static_cast<binary_operator>(n / binary_operators);
      const auto op = static_cast<binary_operator>(n % binary_operators);
      if (!takes(op_ab, type) || !takes(op, type)) continue;
      for (const bool in_place : {false, true}) {
        scene s;
        s.name(std::string(to_string(type)) + " " + std::to_string(2 * n + (in_place ? 1 : 0)));
        const std::string third = in_place ? "abc" : "ca";
        auto& a = make(s, type, "ab", combined_sizes, !in_place);
        auto& b = make(s, type, "bc", combined_sizes);
        auto& c = make(s, type, third, combined_sizes);
        auto& d = in_place ? c : make(s, type, "abc", combined_sizes);
        std::vector<number> expected(60);
        for_each_index({{"ab", &a}, {"bc", &b}, {third, &c}}, "abc", combined_sizes.size("abc"),
                       [&](std::size_t at, const auto& x) {
                         expected[at] = applied_to(op, applied_to(op_ab, 0.5 * x[0], -1.5 * x[1]),
                                                   2.0 * std::conj(x[2]));
                       });
        s.run(trinary{.modes = "ab,bc," + third + "->abc",
                      .a = a.view,
                      .b = b.view,
                      .c = c.view,
                      .d = d.view,
                      .alpha = 0.5,
                      .beta = -1.5,
                      .gamma = 2,
                      .op_c = unary_operator::conjugate,
                      .op_ab = op_ab,
                      .op = op});
        expect_elements(s, d, expected);
      }
    }
  }
}

TEST(TensorsCombine, OfNothingIsNothing) {
  const sizes none{{{'a', 3}, {'z', 0}}};
  scene s;
  auto& a = make(s, dtype::f32, "az", none);
  auto& d = make(s, dtype::f32, "za", none);
  s.run(permute{.modes = "az->za", .a = a.view, .d = d.view});
  s.run(unary{.modes = "az->za", .a = a.view, .d = d.view});
  s.run(binary{.modes = "az,az->za", .a = a.view, .c = a.view, .d = d.view});
}

TEST(TensorsCombine, Refuses) {
  scene s;
  auto& a = s.tensor(dtype::c64, {4, 4}, {4, 1});
  auto& d = s.tensor(dtype::c64, {4, 4}, {4, 1});
  auto& real = s.tensor(dtype::f32, {4, 4}, {4, 1});
  s.refuse(unary{.modes = "ij->ij", .a = a.view, .d = d.view, .op = unary_operator::sine},
           errc::type_mismatch, "a is complex");
  s.refuse(binary{.modes = "ij,ij->ij",
                  .a = a.view,
                  .c = a.view,
                  .d = d.view,
                  .op = binary_operator::maximum},
           errc::type_mismatch, "d is complex");
  s.refuse(unary{.modes = "ij->ji", .a = a.view, .d = a.view}, errc::aliasing,
           R"(d is a and has other modes, "ji" and "ij")");
  s.refuse(permute{.modes = "ij->ij", .a = a.view, .d = a.view}, errc::aliasing, "");
  s.refuse(permute{.modes = "ij->ij", .a = a.view, .d = real.view}, errc::type_mismatch, "");
  auto& row = s.vector(dtype::c64, 4);
  s.refuse(permute{.modes = "ij->j", .a = a.view, .d = row.view}, errc::invalid_argument,
           "mode 'i' of a is not in the result");
  s.refuse(trinary{.modes = "ij,jk,ki->ij", .a = a.view, .b = a.view, .c = a.view, .d = d.view},
           errc::invalid_argument, "mode 'k' of b is not in the result");
}

}  // namespace
}  // namespace troupe::conformance
