#include "conformance/scene.hpp"

#include <troupe/blas/level1_reductions.hpp>

#include <algorithm>
#include <cmath>

namespace troupe::conformance {
namespace {

constexpr dtype reduced_types[] = {dtype::f32, dtype::f64, dtype::f16, dtype::bf16};
constexpr std::int64_t reduction_lengths[] = {0, 1, 2, 5, 31, 64, 513, 20011};
constexpr std::int64_t reduction_strides[] = {1, 3};

template <class Check>
void for_each_reduction(std::span<const dtype> types, Check check) {
  for (const dtype type : types) {
    for (const std::int64_t n : reduction_lengths) {
      for (const std::int64_t stride : reduction_strides) {
        for (const bool into_tensor : {false, true}) {
          scene s;
          s.name(std::string(to_string(type)) + " n=" + std::to_string(n) + " stride " +
                 std::to_string(stride) + (into_tensor ? " into a tensor" : ""));
          check(s, type, n, stride, into_tensor);
        }
      }
    }
  }
}

number sum(const matrix& a) {
  number total = 0;
  for (const number& v : a.values)
    total += v;
  return total;
}
matrix products(const matrix& a, const matrix& b) {
  matrix result = a;
  for (std::size_t i = 0; i < a.values.size(); ++i)
    result.values[i] *= b.values[i];
  return result;
}

/// Runs `r` with and without a tensor for the result and compares with `expected`.
template <class Request>
void check_number(scene& s, Request r, dtype type, bool into_tensor, number expected, double bound,
                  std::int64_t terms, dtype compute) {
  if (!into_tensor) {
    s.expect_near(compute, as_number(s.run(r)), expected, bound, terms, compute, "the reply");
    return;
  }
  auto& answer = s.vector(type, 1);
  r.result = answer.view;
  EXPECT_TRUE(s.run(r).is_zero()) << s.note();
  s.expect_near(type, s.now(answer)(0, 0), expected, bound, terms, compute, "the result");
}

TEST(BlasReductions, DotSumsProducts) {
  for_each_reduction(reduced_types,
                     [](scene& s, dtype type, std::int64_t n, std::int64_t stride, bool tensor) {
                       auto& x = s.vector(type, n, stride);
                       auto& y = s.vector(type, n, 4 - stride);
                       const matrix terms = products(x.before(), y.before());
                       check_number(s, blas::dot{.x = x.view, .y = y.view}, type, tensor,
                                    sum(terms), sum(magnitude(terms)).real(), n, computed_in(type));
                     });
}

constexpr dtype f32_only[] = {dtype::f32};

TEST(BlasReductions, DsdotAndSdsdotSumInF64) {
  // In f32 the ones would be lost beside the large products, which cancel.
  const auto hard = [](scene& s, test_tensor& x, test_tensor& y) {
    std::vector<number> values = x.values;
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = i % 3 == 0 ? 3e7 : i % 3 == 1 ? -3e7 : x.values[i];
    values.resize(values.size() / 3 * 3, 0);
    values.resize(x.values.size(), 0);
    s.fill(x, values);
    s.fill(y, 1);
    return sum(x.before());
  };
  for_each_reduction(f32_only,
                     [&](scene& s, dtype type, std::int64_t n, std::int64_t stride, bool to) {
                       auto& x = s.vector(type, n, stride);
                       auto& y = s.vector(type, n, 4 - stride);
                       const number expected = hard(s, x, y);
                       const double bound = static_cast<double>(n) * 3e7;
                       check_number(s, blas::dsdot{.x = x.view, .y = y.view}, dtype::f64, to,
                                    expected, bound, n, dtype::f64);
                     });
  for_each_reduction(
      f32_only, [&](scene& s, dtype type, std::int64_t n, std::int64_t stride, bool to) {
        auto& x = s.vector(type, n, stride);
        auto& y = s.vector(type, n, 4 - stride);
        const number expected = hard(s, x, y) + 0.375;
        const blas::sdsdot r{.x = x.view, .y = y.view, .alpha = 0.375};
        const double rounding = std::abs(expected) * epsilon(dtype::f32);
        const double bound = static_cast<double>(n) * 3e7 + rounding / epsilon(dtype::f64);
        check_number(s, r, dtype::f32, to, expected, bound, n, dtype::f64);
      });
}

TEST(BlasReductions, DotcAndDotuSumProducts) {
  for_each_reduction(complex_types,
                     [](scene& s, dtype type, std::int64_t n, std::int64_t stride, bool to) {
                       auto& x = s.vector(type, n, stride);
                       auto& y = s.vector(type, n, 2);
                       const matrix terms = products(conjugated(x.before()), y.before());
                       check_number(s, blas::dotc{.x = x.view, .y = y.view}, type, to, sum(terms),
                                    sum(magnitude(terms)).real() * 2, n, computed_in(type));
                     });
  for_each_reduction(complex_types,
                     [](scene& s, dtype type, std::int64_t n, std::int64_t stride, bool to) {
                       auto& x = s.vector(type, n, 2);
                       auto& y = s.vector(type, n, stride);
                       const matrix terms = products(x.before(), y.before());
                       check_number(s, blas::dotu{.x = x.view, .y = y.view}, type, to, sum(terms),
                                    sum(magnitude(terms)).real() * 2, n, computed_in(type));
                     });
}

TEST(BlasReductions, Nrm2IsTheEuclideanNorm) {
  for_each_reduction(classic_and_half_types,
                     [](scene& s, dtype type, std::int64_t n, std::int64_t stride, bool to) {
                       auto& x = s.vector(type, n, stride);
                       double squares = 0;
                       for (const number& v : x.values)
                         squares += std::norm(v);
                       check_number(s, blas::nrm2{.x = x.view}, real_of(type), to,
                                    std::sqrt(squares), std::sqrt(squares), n, computed_in(type));
                     });
}

TEST(BlasReductions, Nrm2NeitherOverflowsNorUnderflows) {
  const auto check = [](dtype type, double value) {
    scene s;
    auto& x = s.vector(type, 4);
    s.fill(x, value);
    const double expected = 2 * x.values[0].real();
    s.expect_near(type, as_number(s.run(blas::nrm2{.x = x.view})), expected, expected, 4, type,
                  "the norm");
  };
  check(dtype::f32, 1e30);
  check(dtype::f32, 1e-30);
  check(dtype::f32, 1e-40);  // subnormal
  check(dtype::c64, 1e-40);
  check(dtype::f64, 1e-310);
  check(dtype::c128, 1e-310);
  check(dtype::c128, 1e300);
  check(dtype::f64, 1e300);
  check(dtype::f64, 1e-300);
  check(dtype::bf16, 1e30);
  check(dtype::c64, 1e30);
  check(dtype::c128, 1e-300);
}

TEST(BlasReductions, Nrm2AddsUpWhatIsFarApart) {
  for (const dtype type : {dtype::f64, dtype::c128}) {
    // Neither the squares of the first kind nor those of the last are normal numbers; each of the
    // others counts beside its neighbours.
    for (const auto& [low, high] : {std::pair(1e-160, 1e-154),
                                    {1e-150, 3e-154},
                                    {1e150, 1e147},
                                    {1e160, 1e155},
                                    {1e-300, 1e300}}) {
      for (const std::int64_t n : {2, 20'011}) {
        scene s;
        s.name(std::string(to_string(type)) + " n=" + std::to_string(n));
        auto& x = s.vector(type, n, 2);
        std::vector<number> values(x.values.size());
        long double squares = 0;
        for (std::size_t i = 0; i < values.size(); ++i) {
          values[i] = i % 2 == 0 ? low : -high;
          squares += static_cast<long double>(values[i].real()) * values[i].real();
        }
        s.fill(x, values);
        const auto expected = static_cast<double>(std::sqrt(squares));
        s.expect_near(type, as_number(s.run(blas::nrm2{.x = x.view})), expected, expected, n, type,
                      "the norm");
      }
    }
  }
}

TEST(BlasReductions, TheNormOfTheLargestHalvesIsAReplyBeyondTheirType) {
  for (const auto& [type, value] :
       {std::pair(dtype::bf16, 3e38), std::pair(dtype::f16, 65'504.0)}) {
    for (const std::int64_t n : {4, 2'500}) {  // more than are taken at once, too
      scene s;
      auto& x = s.vector(type, n);
      s.fill(x, value);
      const double expected = std::sqrt(static_cast<double>(n)) * x.values[0].real();
      const double norm = as_number(s.run(blas::nrm2{.x = x.view})).real();
      EXPECT_NEAR(norm, expected, expected * 1e-6) << to_string(type);
    }
  }
}

TEST(BlasReductions, AsumSumsMagnitudes) {
  for_each_reduction(classic_types,
                     [](scene& s, dtype type, std::int64_t n, std::int64_t stride, bool to) {
                       auto& x = s.vector(type, n, stride);
                       const number expected = sum(magnitude(x.before()));
                       check_number(s, blas::asum{.x = x.view}, real_of(type), to, expected,
                                    expected.real(), n, computed_in(type));
                     });
}

template <class Request>
void check_index(scene& s, Request r, bool into_tensor, std::int64_t expected) {
  if (!into_tensor) {
    EXPECT_EQ(s.run(r), expected) << s.note();
    return;
  }
  auto& answer = s.vector(dtype::i64, 1);
  r.result = answer.view;
  EXPECT_EQ(s.run(r), 0) << s.note();
  EXPECT_EQ(s.now(answer)(0, 0).real(), static_cast<double>(expected)) << s.note();
}

TEST(BlasReductions, IamaxAndIaminAnswerTheFirstExtremeFromZero) {
  const auto largest = [](const matrix& m) {
    return std::ranges::max_element(m.values, {}, [](number v) { return v.real(); }) -
           m.values.begin();
  };
  const auto least = [](const matrix& m) {
    return std::ranges::min_element(m.values, {}, [](number v) { return v.real(); }) -
           m.values.begin();
  };
  for_each_reduction(
      classic_types, [&](scene& s, dtype type, std::int64_t n, std::int64_t stride, bool to) {
        // Eighths from −1 to 1: many ties, and sums of magnitudes that no type rounds.
        auto& x = s.vector(type, n, stride);
        std::vector<number> values = x.values;
        for (number& v : values)
          v = {std::round(v.real() * 8) / 8, is_complex(type) ? std::round(v.imag() * 8) / 8 : 0};
        s.fill(x, values);
        const matrix sizes_of = magnitude(x.before());
        check_index(s, blas::iamax{.x = x.view}, to, n == 0 ? -1 : largest(sizes_of));
      });
  for_each_reduction(
      classic_types, [&](scene& s, dtype type, std::int64_t n, std::int64_t stride, bool to) {
        auto& x = s.vector(type, n, stride);
        std::vector<number> values = x.values;
        for (number& v : values)
          v = {std::round(v.real() * 8) / 8, is_complex(type) ? std::round(v.imag() * 8) / 8 : 0};
        s.fill(x, values);
        check_index(s, blas::iamin{.x = x.view}, to, n == 0 ? -1 : least(magnitude(x.before())));
      });
}

TEST(BlasReductions, RefuseWhatTheyCannotDo) {
  scene s;
  const auto vector = [&](dtype type, std::int64_t n) { return s.vector(type, n).view; };
  const auto x = vector(dtype::f32, 5);
  s.refuse(blas::dotu{.x = vector(dtype::c64, 5), .y = vector(dtype::c128, 5)}, errc::type_mismatch,
           "; it is c128");
  s.refuse(blas::dot{.x = x, .y = vector(dtype::f32, 6)}, errc::shape_mismatch,
           "y must have 5 elements (n) because x is [5]");
  s.refuse(blas::dot{.x = x, .y = x, .result = vector(dtype::f64, 1)}, errc::type_mismatch,
           "; it is f64");
  s.refuse(blas::sdsdot{.x = x, .y = x, .alpha = number(0, 1)}, errc::invalid_argument,
           "alpha must be real because x is f32; it is 0+1i");
}

}  // namespace
}  // namespace troupe::conformance
