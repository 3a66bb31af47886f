#include "conformance/scene.hpp"

#include <troupe/blas/level3_symmetric.hpp>

#include <cmath>
#include <limits>

namespace troupe::conformance {
namespace {

constexpr std::int64_t level3_symmetric_sizes[] = {0, 1, 3, 20};
constexpr std::int64_t beyond_one_tile = 150;

bool row_major(layout l) { return l == layout::row || l == layout::row_padded; }

template <class Request>
void check_matrix_product(std::span<const dtype> types, bool is_hermitian) {
  for (const dtype type : types) {
    for (const layout la : all_layouts) {
      for (const layout lb : all_layouts) {
        for (const layout lc : all_layouts) {
          if (row_major(lb) != row_major(lc)) continue;
          if (is_hermitian && row_major(la) != row_major(lc)) continue;
          for (const blas::side side : sides) {
            for (const blas::uplo uplo : triangles) {
              for (const std::int64_t m : {0, 1, 3, 20, 150}) {
                if (m == beyond_one_tile && (la != lb || la != lc)) continue;
                const std::int64_t n = m == beyond_one_tile ? 7 : 20 - m;
                const std::int64_t order = side == blas::side::left ? m : n;
                scene s;
                s.name(std::string(to_string(type)) + " m=" + std::to_string(m) + " a " +
                       to_string(la) + " b " + to_string(lb) + " c " + to_string(lc));
                auto& a = s.matrix_of(type, order, order, la);
                s.hide_all_but(a, uplo, blas::diag::non_unit, is_hermitian);
                auto& b = s.matrix_of(type, m, n, lb);
                auto& c = s.matrix_of(type, m, n, lc);
                const scalar alpha = factor(type, 1.25, -0.5);
                const scalar beta = m == 3 ? scalar(0) : factor(type, -0.75, 2);
                s.run(Request{.a = a.view,
                              .b = b.view,
                              .c = c.view,
                              .alpha = alpha,
                              .beta = beta,
                              .side = side,
                              .uplo = uplo});
                const matrix full =
                    is_hermitian ? hermitian(a.before(), uplo) : symmetric(a.before(), uplo);
                const bool left = side == blas::side::left;
                const matrix product = left ? full * b.before() : b.before() * full;
                const matrix size = left ? magnitude(full) * magnitude(b.before())
                                         : magnitude(b.before()) * magnitude(full);
                s.expect(c, as_number(alpha) * product + as_number(beta) * c.before(),
                         number(2) * size + number(3) * magnitude(c.before()), order,
                         real_of(type));
              }
            }
          }
        }
      }
    }
  }
}

TEST(BlasSymmetric, SymmAndHemmMultiply) {
  check_matrix_product<blas::symm>(classic_types, false);
  check_matrix_product<blas::hemm>(complex_types, true);
}

struct rank_k_case {
  dtype type;
  layout a, c;
  blas::uplo uplo;
  std::int64_t n, k;
  bool overwrites;
};

template <class Check>
void for_each_rank_k(std::span<const dtype> types, Check check) {
  for (const dtype type : types) {
    for (const layout a : all_layouts) {
      for (const layout c : all_layouts) {
        for (const blas::uplo uplo : triangles) {
          for (const std::int64_t n : level3_symmetric_sizes) {
            for (const std::int64_t k : level3_symmetric_sizes) {
              for (const bool overwrites : {false, true})
                check(rank_k_case{type, a, c, uplo, n, k, overwrites});
            }
          }
          if (a == layout::row_padded || c == layout::column) continue;
          check(rank_k_case{type, a, c, uplo, beyond_one_tile, 11, false});
          check(rank_k_case{type, a, c, uplo, 11, beyond_one_tile, true});
        }
      }
    }
  }
}

std::string named(const rank_k_case& r) {
  return std::string(to_string(r.type)) + " n=" + std::to_string(r.n) +
         " k=" + std::to_string(r.k) + " a " + to_string(r.a) + " c " + to_string(r.c) +
         (r.overwrites ? " beta=0" : "");
}

/// c with its triangle, whose old content may not matter, and with the rest hidden.
test_tensor& triangle_of(scene& s, const rank_k_case& r, bool is_hermitian) {
  auto& c = s.matrix_of(r.type, r.n, r.n, r.c);
  if (r.overwrites) {
    s.fill(c, number(std::numeric_limits<double>::quiet_NaN(), 1));
  } else {
    s.hide_all_but(c, r.uplo, blas::diag::non_unit, is_hermitian);
  }
  return c;
}

/// Expects term + beta · c in the triangle, and the rest untouched.
void expect_updated(scene& s, const rank_k_case& r, const test_tensor& c, const matrix& term,
                    const matrix& size, number beta, bool is_hermitian) {
  const matrix old = is_hermitian ? hermitian(c.before(), r.uplo) : symmetric(c.before(), r.uplo);
  const matrix now = s.now(c);
  for (std::int64_t i = 0; i < r.n; ++i) {
    for (std::int64_t j = 0; j < r.n; ++j) {
      if (r.uplo == blas::uplo::upper ? i > j : i < j) {
        if (!std::isnan(now(i, j).real())) ADD_FAILURE() << "the other triangle" << s.note();
        continue;
      }
      const number kept = r.overwrites ? number(0) : beta * old(i, j);
      s.expect_near(r.type, now(i, j), term(i, j) + kept,
                    4 * size(i, j).real() + 2 * std::abs(kept), r.k, real_of(r.type), "an element");
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(BlasSymmetric, SyrkAndSyr2kUpdateOneTriangle) {
  for_each_rank_k(classic_types, [](const rank_k_case& r) {
    const scalar alpha = factor(r.type, 1.25, -0.5);
    const scalar beta = r.overwrites ? scalar(0) : factor(r.type, -0.75, 1);
    {
      scene s;
      s.name("syrk " + named(r));
      auto& a = s.matrix_of(r.type, r.n, r.k, r.a);
      auto& c = triangle_of(s, r, false);
      s.run(blas::syrk{.a = a.view, .c = c.view, .alpha = alpha, .beta = beta, .uplo = r.uplo});
      expect_updated(s, r, c, as_number(alpha) * (a.before() * transposed(a.before())),
                     magnitude(a.before()) * magnitude(transposed(a.before())), as_number(beta),
                     false);
    }
    scene s;
    s.name("syr2k " + named(r));
    auto& a = s.matrix_of(r.type, r.n, r.k, r.a);
    auto& b = s.matrix_of(r.type, r.n, r.k, r.a);
    auto& c = triangle_of(s, r, false);
    s.run(blas::syr2k{
        .a = a.view, .b = b.view, .c = c.view, .alpha = alpha, .beta = beta, .uplo = r.uplo});
    const matrix product = a.before() * transposed(b.before());
    const matrix size = magnitude(a.before()) * magnitude(transposed(b.before()));
    expect_updated(s, r, c, as_number(alpha) * (product + transposed(product)),
                   size + transposed(size), as_number(beta), false);
  });
}

TEST(BlasSymmetric, HerkAndHer2kUpdateOneTriangleAndARealDiagonal) {
  for_each_rank_k(complex_types, [](const rank_k_case& r) {
    // BLAS's forms: the order of c as it is, the other order conjugated.
    const blas::op op = row_major(r.a) == row_major(r.c) ? blas::op::none : blas::op::conjugate;
    for (const double weight : {1.25, 0.0}) {
      const double beta = r.overwrites ? 0 : -0.75;
      {
        scene s;
        s.name("herk " + named(r));
        auto& a = s.matrix_of(r.type, r.n, r.k, r.a);
        auto& c = triangle_of(s, r, true);
        s.run(blas::herk{
            .a = a.view, .c = c.view, .alpha = weight, .beta = beta, .uplo = r.uplo, .op_a = op});
        const matrix used = applied(op, a.before());
        expect_updated(s, r, c, number(weight) * (used * adjoint(used)),
                       magnitude(used) * magnitude(adjoint(used)), beta, true);
      }
      scene s;
      s.name("her2k " + named(r));
      auto& a = s.matrix_of(r.type, r.n, r.k, r.a);
      auto& b = s.matrix_of(r.type, r.n, r.k, r.a);
      auto& c = triangle_of(s, r, true);
      const number alpha(weight, -weight / 2);
      s.run(blas::her2k{.a = a.view,
                        .b = b.view,
                        .c = c.view,
                        .alpha = alpha,
                        .beta = beta,
                        .uplo = r.uplo,
                        .op_ab = op});
      const matrix product = alpha * (applied(op, a.before()) * adjoint(applied(op, b.before())));
      const matrix size = magnitude(a.before()) * magnitude(transposed(b.before()));
      expect_updated(s, r, c, product + adjoint(product), size + transposed(size), beta, true);
    }
  });
}

TEST(BlasSymmetric, ReadNothingThatAFactorTooSmallForItsTypeWeighs) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto check = [&](dtype type, scalar beta, auto run) {
    for (const layout l : all_layouts) {
      for (const blas::uplo uplo : triangles) {
        scene s;
        s.name(std::string(to_string(type)) + " c " + to_string(l));
        auto& a = s.matrix_of(type, 7, 3, l);
        auto& b = s.matrix_of(type, 7, 3, l);
        s.fill(a, nan);
        s.fill(b, nan);
        const rank_k_case r{type, l, l, uplo, 7, 3, as_number(beta) != number(1)};
        // If nothing is added to c itself, not even its diagonal becomes real.
        auto& c = triangle_of(s, r, false);
        run(s, a.view, b.view, c.view, uplo, beta);
        const matrix nothing(7, 7);
        if (r.overwrites) {
          const matrix now = s.now(c);
          for (std::int64_t i = 0; i < 7; ++i) {
            for (std::int64_t j = 0; j < 7; ++j) {
              if (uplo == blas::uplo::upper ? i > j : i < j) continue;
              EXPECT_EQ(now(i, j), number(0)) << s.note();
            }
          }
        } else {
          expect_updated(s, r, c, nothing, nothing, 1, false);
        }
      }
    }
  };
  for (const scalar beta : {scalar(1), scalar(1e-60)}) {
    for (const dtype type : {dtype::f32, dtype::c64}) {
      check(type, beta, [](scene& s, auto a, auto, auto c, auto uplo, auto kept) {
        s.run(blas::syrk{.a = a, .c = c, .alpha = 1e-60, .beta = kept, .uplo = uplo});
      });
      check(type, beta, [](scene& s, auto a, auto b, auto c, auto uplo, auto kept) {
        s.run(blas::syr2k{.a = a, .b = b, .c = c, .alpha = 1e-60, .beta = kept, .uplo = uplo});
      });
    }
    check(dtype::c64, beta, [](scene& s, auto a, auto, auto c, auto uplo, auto kept) {
      s.run(blas::herk{.a = a, .c = c, .alpha = 1e-60, .beta = kept, .uplo = uplo});
    });
    check(dtype::c64, beta, [](scene& s, auto a, auto b, auto c, auto uplo, auto kept) {
      s.run(blas::her2k{.a = a, .b = b, .c = c, .alpha = 1e-60, .beta = kept, .uplo = uplo});
    });
  }
}

TEST(BlasSymmetric, HerkAndHer2kWithoutTermsOnlyScale) {
  for (const dtype type : complex_types) {
    for (const double beta : {1.0, -0.75}) {
      for (const blas::uplo uplo : triangles) {
        const auto expect_scaled = [&](scene& s, const test_tensor& c) {
          const matrix real = hermitian(c.before(), uplo);
          const matrix scaled = beta == 1 ? c.before() : number(beta) * real;
          s.expect_exactly(c, in_triangle(uplo, scaled, c.before()));
        };
        scene s;
        s.name(std::string(to_string(type)) + " beta=" + std::to_string(beta));
        auto& a = s.matrix_of(type, 5, 0, layout::row);
        auto& c = s.matrix_of(type, 5, 5, layout::row);
        std::vector<number> values = c.values;
        for (number& v : values)
          v = {std::round(v.real() * 8), std::round(v.imag() * 8)};  // exact when scaled
        s.fill(c, values);
        s.run(blas::herk{.a = a.view, .c = c.view, .beta = beta, .uplo = uplo});
        expect_scaled(s, c);
        s.run(blas::her2k{.a = a.view, .b = a.view, .c = c.view, .beta = beta, .uplo = uplo});
        expect_scaled(s, c);
      }
    }
  }
}

TEST(BlasSymmetric, HerkFormsTheGramMatrixOfATransposedView) {
  scene s;
  auto& x = s.matrix_of(dtype::c64, 9, 4, layout::row);
  auto& c = s.matrix_of(dtype::c64, 4, 4, layout::row);
  s.run(blas::herk{.a = x.view.transpose(), .c = c.view, .op_a = blas::op::conjugate});
  const matrix gram = adjoint(x.before()) * x.before();
  s.expect_near(dtype::c64, s.now(c)(0, 3), gram(0, 3), 9, 9, dtype::f32, "[0, 3]");
}

TEST(BlasSymmetric, RefuseWhatTheyCannotDo) {
  scene s;
  const auto tensor = [&](dtype type, std::int64_t m, std::int64_t n, layout l = layout::row) {
    return s.matrix_of(type, m, n, l).view;
  };
  const auto f32 = dtype::f32;
  const auto c64 = dtype::c64;
  const auto a = tensor(f32, 3, 3);
  const auto b = tensor(f32, 3, 5);
  const auto c = tensor(f32, 3, 5);
  s.refuse(blas::symm{.a = tensor(f32, 5, 5), .b = b, .c = c}, errc::shape_mismatch,
           "b must have 5 rows (m) because a is [5, 5]");
  s.refuse(blas::symm{.a = a, .b = b, .c = tensor(f32, 3, 5, layout::column)},
           errc::layout_unsupported, "b and c must both be row-major or both column-major");
  s.refuse(blas::symm{.a = tensor(f32, 3, 4), .b = b, .c = c}, errc::shape_mismatch,
           "a must have 3 columns (m)");
  s.refuse(
      blas::hemm{
          .a = tensor(c64, 3, 3, layout::column), .b = tensor(c64, 3, 5), .c = tensor(c64, 3, 5)},
      errc::layout_unsupported, "a and b must both");
  s.refuse(blas::syrk{.a = b, .c = a, .beta = number(0, 1)}, errc::invalid_argument,
           "beta must be real because c is f32; it is 0+1i");
  s.refuse(blas::herk{.a = tensor(c64, 3, 5), .c = tensor(c64, 3, 3), .alpha = number(1, 1)},
           errc::invalid_argument, "alpha is 1+1i, it must be real");
  s.refuse(blas::herk{.a = tensor(c64, 3, 5, layout::column), .c = tensor(c64, 3, 3)},
           errc::layout_unsupported,
           "a must have the order of c because op_a is none; a is column-major, c is row-major");
  s.refuse(blas::herk{.a = tensor(c64, 3, 5), .c = tensor(c64, 3, 3), .op_a = blas::op::conjugate},
           errc::layout_unsupported,
           "a must have the order opposite to that of c because op_a is conjugate");
  s.refuse(blas::syr2k{.a = b, .b = tensor(f32, 3, 5, layout::column), .c = a},
           errc::layout_unsupported, "b and a must both");
  s.refuse(blas::her2k{.a = tensor(c64, 3, 5),
                       .b = tensor(c64, 3, 5),
                       .c = tensor(c64, 3, 3),
                       .beta = number(1, 1)},
           errc::invalid_argument, "beta is 1+1i, it must be real");
  s.refuse(blas::syrk{.a = tensor(dtype::f64, 3, 5),
                      .c = tensor(dtype::f64, 3, 3),
                      .math = blas::math_mode::bf16x9},
           errc::invalid_argument, "math is bf16x9, but it must be strict unless");
}

}  // namespace
}  // namespace troupe::conformance
