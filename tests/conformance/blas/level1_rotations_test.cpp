#include "conformance/scene.hpp"

#include <troupe/blas/level1_rotations.hpp>

#include <cmath>
#include <limits>

namespace troupe::conformance {
namespace {

constexpr std::int64_t rotation_lengths[] = {0, 1, 2, 31, 513};

TEST(BlasRotations, RotAppliesNumbersOrTensors) {
  for (const dtype type : classic_types) {
    for (const std::int64_t n : rotation_lengths) {
      for (const bool from_tensors : {false, true}) {
        scene s;
        s.name(std::string(to_string(type)) + " n=" + std::to_string(n));
        auto& x = s.vector(type, n, 1 + from_tensors);
        auto& y = s.vector(type, n, 3);
        auto& c = s.vector(real_of(type), 1);
        auto& sine = s.vector(type, 1);
        blas::rot r{.x = x.view, .y = y.view};
        if (from_tensors) {
          r.c_at = c.view;
          r.s_at = sine.view;
        } else {
          r.c = c.values[0].real();
          r.s = is_complex(type) ? scalar(sine.values[0]) : scalar(sine.values[0].real());
        }
        s.run(r);
        const number cosine = c.values[0];
        const number sigma = sine.values[0];
        const matrix bound = magnitude(x.before()) + magnitude(y.before());
        s.expect(x, cosine * x.before() + sigma * y.before(), bound, 2, real_of(type));
        s.expect(y, cosine * y.before() - std::conj(sigma) * x.before(), bound, 2, real_of(type));
      }
    }
  }
}

TEST(BlasRotations, RotgMakesTheSecondComponentZero) {
  for (const dtype type : classic_types) {
    for (const auto& [first, second] : {std::pair<number, number>{{3, 1}, {-4, 2}},
                                        {{-1, 0}, {0.5, 0}},
                                        {{0, 0}, {2, -1}},
                                        {{2, 1}, {0, 0}},
                                        {{0, 0}, {0, 0}}}) {
      scene s;
      s.name(std::string(to_string(type)));
      auto& a = s.vector(type, 1);
      auto& b = s.vector(type, 1);
      auto& c = s.vector(real_of(type), 1);
      auto& sine = s.vector(type, 1);
      s.fill(a, first);
      s.fill(b, second);
      s.run(blas::rotg{.a = a.view, .b = b.view, .c = c.view, .s = sine.view});
      const number old_a = a.values[0];
      const number old_b = b.values[0];
      const number cosine = s.now(c)(0, 0);
      const number sigma = s.now(sine)(0, 0);
      const double size = std::abs(old_a) + std::abs(old_b);
      s.expect_near(type, s.now(a)(0, 0), cosine * old_a + sigma * old_b, size, 2, real_of(type),
                    "r");
      s.expect_near(type, cosine * old_b - std::conj(sigma) * old_a, 0, size, 2, real_of(type),
                    "the second component");
      s.expect_near(type, std::norm(cosine) + std::norm(sigma), 1, 1, 2, real_of(type),
                    "c² + |s|²");
      if (!is_complex(type) && size > 0) {
        // The z of reference BLAS: s where |a| > |b|, else 1/c, else 1.
        const number z = std::abs(old_a) > std::abs(old_b) ? sigma
                         : cosine != 0.0                   ? 1.0 / cosine
                                                           : number(1);
        s.expect_near(type, s.now(b)(0, 0), z, std::abs(z), 2, type, "z");
      }
    }
  }
}

TEST(BlasRotations, RotgNeitherOverflowsNorUnderflows) {
  using wide = std::complex<long double>;  // its exponents hold every square
  constexpr double of_f32[] = {1, 3e-20, 1e-30, 1e-37, 2e19, 1e25, 1e37};
  constexpr double of_f64[] = {1, 1e-160, 1e-170, 1e-300, 1.4e154, 1e300, 3e-155};
  constexpr number turns[] = {{1, 0}, {-1, 0}, {0.6, 0.8}, {0, -1}};
  for (const dtype type : classic_types) {
    for (const double size_a : real_of(type) == dtype::f32 ? of_f32 : of_f64) {
      for (const double size_b : real_of(type) == dtype::f32 ? of_f32 : of_f64) {
        for (const number turn : turns) {
          if (!is_complex(type) && turn.imag() != 0) continue;
          scene s;
          s.name(std::string(to_string(type)) + " a=" + std::to_string(size_a) +
                 " b=" + std::to_string(size_b));
          auto& a = s.vector(type, 1);
          auto& b = s.vector(type, 1);
          auto& c = s.vector(real_of(type), 1);
          auto& sine = s.vector(type, 1);
          s.fill(a, size_a * turn);
          s.fill(b, number(size_b));
          s.run(blas::rotg{.a = a.view, .b = b.view, .c = c.view, .s = sine.view});
          const wide old_a(a.values[0]);
          const wide old_b(b.values[0]);
          wide r = std::hypot(std::abs(old_a), std::abs(old_b)) * (old_a / std::abs(old_a));
          if (!is_complex(type)) {
            r = std::hypot(old_a.real(), old_b.real());
            if ((std::abs(old_a) > std::abs(old_b) ? old_a : old_b).real() < 0) r = -r;
          }
          const auto expect = [&](number actual, wide expected, const char* what) {
            const number rounded(expected);
            s.expect_near(type, actual, rounded, std::abs(rounded), 0, type, what);
          };
          expect(s.now(a)(0, 0), r, "r");
          expect(s.now(c)(0, 0),
                 std::abs(old_a) / std::abs(r) * (old_a / std::abs(old_a)) / (r / std::abs(r)),
                 "c");
          expect(s.now(sine)(0, 0), std::conj(old_b) / std::conj(r), "s");
        }
      }
    }
  }
}

/// H of `param`, by its definition.
matrix rotation(const matrix& param) {
  matrix h(2, 2);
  const double flag = param(0, 0).real();
  h(0, 0) = flag == -1 || flag == 1 ? param(1, 0) : 1;
  h(1, 0) = flag == -1 || flag == 0 ? param(2, 0) : flag == 1 ? -1 : 0;
  h(0, 1) = flag == -1 || flag == 0 ? param(3, 0) : flag == 1 ? 1 : 0;
  h(1, 1) = flag == -1 || flag == 1 ? param(4, 0) : 1;
  return h;
}

TEST(BlasRotations, RotmAppliesEveryFlag) {
  for (const dtype type : real_types) {
    for (const double flag : {-2.0, -1.0, 0.0, 1.0}) {
      for (const std::int64_t n : rotation_lengths) {
        scene s;
        s.name(std::string(to_string(type)) + " flag " + std::to_string(flag));
        auto& x = s.vector(type, n, 2);
        auto& y = s.vector(type, n);
        auto& param = s.vector(type, 5);
        std::vector<number> values = param.values;
        values[0] = flag;
        s.fill(param, values);
        s.run(blas::rotm{.x = x.view, .y = y.view, .param = param.view});
        const matrix h = rotation(param.before());
        const matrix bound = magnitude(x.before()) + magnitude(y.before());
        s.expect(x, h(0, 0) * x.before() + h(0, 1) * y.before(), bound, 2, type);
        s.expect(y, h(1, 0) * x.before() + h(1, 1) * y.before(), bound, 2, type);
      }
    }
  }
}

TEST(BlasRotations, RotmgMakesTheSecondComponentZero) {
  for (const dtype type : real_types) {
    for (int round = 0; round < 100; ++round) {
      scene s;
      for (int skip = 0; skip < round; ++skip)
        (void)s.random(type);
      auto& d1 = s.vector(type, 1);
      auto& d2 = s.vector(type, 1);
      auto& x1 = s.vector(type, 1);
      auto& y1 = s.vector(type, 1);
      auto& param = s.vector(type, 5);
      constexpr double magnitudes[] = {1, 1e12, 1e-12, 1e25, 1e-25};  // makes it rescale
      const double huge = magnitudes[round % 5];
      s.fill(d1, (std::abs(d1.values[0]) + 1e-3) * huge);
      s.fill(d2, std::abs(d2.values[0]) + 0.01);
      s.run(blas::rotmg{
          .d1 = d1.view, .d2 = d2.view, .x1 = x1.view, .y1 = y1.view, .param = param.view});
      const matrix h = rotation(s.now(param));
      const number a = x1.values[0];
      const number b = y1.values[0];
      const double energy = (d1.values[0] * a * a + d2.values[0] * b * b).real();
      const double new_d1 = s.now(d1)(0, 0).real();
      const double new_d2 = s.now(d2)(0, 0).real();
      const double new_x = s.now(x1)(0, 0).real();
      s.expect_near(type, h(0, 0) * a + h(0, 1) * b, new_x, std::abs(new_x), 8, type, "x1");
      const number zero = h(1, 0) * a + h(1, 1) * b;
      s.expect_near(type, new_d2 * zero * zero, 0, energy * 1e-3, 8, type, "the second component");
      s.expect_near(type, new_d1 * new_x * new_x, energy, energy, 16, type, "d1 x1²");
    }
  }
}

TEST(BlasRotations, RotmgOfANegativeWeightIsZero) {
  for (const dtype type : real_types) {
    for (const double second : {0.0, 2.0}) {
      scene s;
      s.name(std::string(to_string(type)) + " d2=" + std::to_string(second));
      auto& d1 = s.vector(type, 1);
      auto& d2 = s.vector(type, 1);
      auto& x1 = s.vector(type, 1);
      auto& y1 = s.vector(type, 1);
      auto& param = s.vector(type, 5);
      s.fill(d1, -1);
      s.fill(d2, second);
      s.run(blas::rotmg{
          .d1 = d1.view, .d2 = d2.view, .x1 = x1.view, .y1 = y1.view, .param = param.view});
      matrix zeros(5, 1);
      zeros(0, 0) = -1;
      s.expect_exactly(param, zeros);
      for (const test_tensor* const t : {&d1, &d2, &x1})
        s.expect_exactly(*t, matrix(1, 1));
    }
  }
}

TEST(BlasRotations, RotmgWithNothingToRotateLeavesAllButTheFlag) {
  for (const dtype type : real_types) {
    scene s;
    auto& d1 = s.vector(type, 1);
    auto& d2 = s.vector(type, 1);
    auto& x1 = s.vector(type, 1);
    auto& y1 = s.vector(type, 1);
    auto& param = s.vector(type, 5);
    s.fill(d1, 1);
    s.fill(y1, 0);
    s.run(blas::rotmg{
        .d1 = d1.view, .d2 = d2.view, .x1 = x1.view, .y1 = y1.view, .param = param.view});
    matrix expected = param.before();
    expected(0, 0) = -2;
    s.expect_exactly(param, expected);
    for (const test_tensor* const t : {&d1, &d2, &x1})
      s.expect_exactly(*t, t->before());
  }
}

TEST(BlasRotations, RotmgOfAnInfinityEnds) {
  for (const dtype type : real_types) {
    for (const bool first : {true, false}) {
      scene s;
      auto& d1 = s.vector(type, 1);
      auto& d2 = s.vector(type, 1);
      auto& x1 = s.vector(type, 1);
      auto& y1 = s.vector(type, 1);
      auto& param = s.vector(type, 5);
      s.fill(first ? d1 : d2, std::numeric_limits<double>::infinity());
      s.fill(first ? d2 : d1, 1);
      s.run(blas::rotmg{
          .d1 = d1.view, .d2 = d2.view, .x1 = x1.view, .y1 = y1.view, .param = param.view});
    }
  }
}

TEST(BlasRotations, RefuseWhatTheyCannotDo) {
  scene s;
  const auto vector = [&](dtype type, std::int64_t n) { return s.vector(type, n).view; };
  const auto x = vector(dtype::f32, 5);
  const auto y = vector(dtype::f32, 5);
  s.refuse(blas::rot{.x = x, .y = y, .c = number(1, 1)}, errc::invalid_argument, "c must be real");
  s.refuse(blas::rot{.x = x, .y = y, .s = number(1, 1)}, errc::invalid_argument, "s has an");
  s.refuse(blas::rot{.x = x, .y = y, .c_at = vector(dtype::f32, 1)}, errc::invalid_argument,
           "s_at must be given because c_at is given");
  s.refuse(blas::rot{.x = x, .y = y, .c_at = vector(dtype::f64, 1), .s_at = vector(dtype::f32, 1)},
           errc::type_mismatch, "; it is f64");
  const auto one = [&](dtype type = dtype::f32) { return vector(type, 1); };
  s.refuse(blas::rotg{.a = x, .b = one(), .c = one(), .s = one()}, errc::shape_mismatch,
           "a must have 1 element; it has 5");
  s.refuse(blas::rotmg{.d1 = one(),
                       .d2 = one(),
                       .x1 = one(),
                       .y1 = one(dtype::f64),
                       .param = vector(dtype::f32, 5)},
           errc::type_mismatch, "; it is f64");
}

}  // namespace
}  // namespace troupe::conformance
