#include "product_types.hpp"

#include <troupe/blas/batched.hpp>

namespace troupe::conformance {
namespace {

scalar alpha_for(const product_type& type) {
  return type.in == dtype::i8 ? scalar(-3) : factor(type.out, 1.25, -0.5);
}
scalar beta_for(const product_type& type) {
  return type.in == dtype::i8 ? scalar(2) : factor(type.out, -0.75, 2);
}

void expect_product(scene& s, const test_tensor& c, std::int64_t batch, const matrix& a,
                    const matrix& b, number alpha, number beta, dtype compute) {
  s.expect(
      c, alpha * (a * b) + beta * c.before(batch),
      std::abs(alpha) * (magnitude(a) * magnitude(b)) + std::abs(beta) * magnitude(c.before(batch)),
      a.columns, compute, batch);
}

TEST(BlasBatched, GemmStridedBatchedMultipliesEveryTypeAndLayout) {
  for (const auto& type : product_types) {
    for (const layout la : all_layouts) {
      for (const layout lc : all_layouts) {
        for (const blas::op op : ops) {
          for (const std::int64_t count : {0, 1, 3}) {
            for (const bool overwrites : {false, true}) {
              scene s;
              s.name(std::string(to_string(type.in)) + " a " + to_string(la) + " c " +
                     to_string(lc) + " batch " + std::to_string(count));
              auto& a = s.batch(type.in, count, 6, 5, la);
              auto& b = s.batch(type.in, count, 5, 7, layout::row);
              auto& c = s.batch(type.out, count, 6, 7, lc);
              const scalar alpha = alpha_for(type);
              const scalar beta = overwrites ? scalar(0) : beta_for(type);
              s.run(blas::gemm_strided_batched{.a = a.view,
                                               .b = b.view,
                                               .c = c.view,
                                               .alpha = alpha,
                                               .beta = beta,
                                               .op_a = op,
                                               .op_b = op});
              for (std::int64_t i = 0; i < count; ++i) {
                expect_product(s, c, i, applied(op, a.before(i)), applied(op, b.before(i)),
                               as_number(alpha), as_number(beta), type.compute);
              }
            }
          }
        }
      }
    }
  }
}

TEST(BlasBatched, AnOperandOfStrideZeroServesEveryProblem) {
  scene s;
  auto& a = s.batch(dtype::f32, 4, 3, 3, layout::row);
  auto& b = s.tensor(dtype::f32, {4, 3, 2}, {0, 2, 1});
  s.fill(b, 0.5);  // the same elements are stored four times
  auto& c = s.batch(dtype::f32, 4, 3, 2, layout::column);
  s.run(blas::gemm_strided_batched{.a = a.view, .b = b.view, .c = c.view});
  for (std::int64_t i = 0; i < 4; ++i)
    expect_product(s, c, i, a.before(i), b.before(i), 1, 0, dtype::f32);
}

TEST(BlasBatched, GemmBatchedTakesMatricesFromAnywhere) {
  for (const auto& type : product_types) {
    for (const std::size_t count : {0u, 1u, 4u}) {
      scene s;
      s.name(std::string(to_string(type.in)));
      blas::gemm_batched r{
          .alpha = alpha_for(type), .beta = beta_for(type), .op_b = blas::op::conjugate};
      std::vector<test_tensor*> a, b, c;
      for (std::size_t i = 0; i < count; ++i) {
        a.push_back(&s.matrix_of(type.in, 4, 6, layout::column));
        // The last problem reads the same b as the first.
        b.push_back(i == 3 ? b[0] : &s.matrix_of(type.in, 6, 3, layout::row_padded));
        c.push_back(&s.matrix_of(type.out, 4, 3, layout::row));
        r.a.push_back(a[i]->view);
        r.b.push_back(b[i]->view);
        r.c.push_back(c[i]->view);
      }
      s.run(r);
      for (std::size_t i = 0; i < count; ++i) {
        expect_product(s, *c[i], 0, a[i]->before(), conjugated(b[i]->before()), as_number(r.alpha),
                       as_number(r.beta), type.compute);
      }
    }
  }
}

TEST(BlasBatched, GemmGroupedTakesADifferentProblemEachTime) {
  for (const auto& type : product_types) {
    for (const std::size_t factors : {0u, 1u, 5u}) {
      scene s;
      s.name(std::string(to_string(type.in)) + " with " + std::to_string(factors) + " factors");
      blas::gemm_grouped r;
      std::vector<test_tensor*> a, b, c;
      for (std::size_t i = 0; i < 5; ++i) {
        const auto m = static_cast<std::int64_t>(i * 3 + 1);
        const auto k = static_cast<std::int64_t>(7 * i % 5);
        a.push_back(&s.matrix_of(type.in, m, k, all_layouts[i % 4]));
        b.push_back(&s.matrix_of(type.in, k, 8 - static_cast<std::int64_t>(i), layout::row));
        c.push_back(
            &s.matrix_of(type.out, m, 8 - static_cast<std::int64_t>(i), all_layouts[(i + 2) % 4]));
        r.a.push_back(a[i]->view);
        r.b.push_back(b[i]->view);
        r.c.push_back(c[i]->view);
      }
      for (std::size_t i = 0; i < factors; ++i) {
        r.alpha.emplace_back(static_cast<int>(i) + 1);
        r.beta.emplace_back(static_cast<int>(i) - 1);
      }
      s.run(r);
      for (std::size_t i = 0; i < 5; ++i) {
        const std::size_t which = factors == 5 ? i : 0;
        expect_product(s, *c[i], 0, a[i]->before(), b[i]->before(),
                       factors == 0 ? 1 : as_number(r.alpha[which]),
                       factors == 0 ? 0 : as_number(r.beta[which]), type.compute);
      }
    }
  }
}

TEST(BlasBatched, ListsTakeMatricesAtAnyAddress) {
  for (const auto& type : product_types) {
    for (const blas::op op : ops) {
      for (const bool grouped : {false, true}) {
        scene s;
        s.name(std::string(to_string(type.in)) + (grouped ? " grouped" : ""));
        // Behind the first column: an address that is aligned to one element only.
        const auto part = [&](dtype t, std::int64_t m, std::int64_t n) {
          auto& whole = s.matrix_of(t, m, n + 1, layout::row);
          return &s.again(whole, whole.view.slice(1, 1, n + 1).value());
        };
        std::vector<test_tensor*> a, b, c;
        std::vector<any_tensor> views[3];
        for (std::size_t i = 0; i < 3; ++i) {
          a.push_back(part(type.in, 5, 8));
          b.push_back(part(type.in, 8, 16));
          c.push_back(part(type.out, 5, 16));
          views[0].push_back(a[i]->view);
          views[1].push_back(b[i]->view);
          views[2].push_back(c[i]->view);
        }
        const scalar alpha = alpha_for(type);
        if (grouped) {
          s.run(blas::gemm_grouped{
              .a = views[0], .b = views[1], .c = views[2], .alpha = {alpha, 0, alpha}, .op_a = op});
        } else {
          s.run(blas::gemm_batched{
              .a = views[0], .b = views[1], .c = views[2], .alpha = alpha, .op_a = op});
        }
        for (std::size_t i = 0; i < 3; ++i) {
          expect_product(s, *c[i], 0, applied(op, a[i]->before()), b[i]->before(),
                         grouped && i == 1 ? number(0) : as_number(alpha), 0, type.compute);
        }
      }
    }
  }
}

TEST(BlasBatched, GemvBatchedMultiplies) {
  for (const dtype type : classic_types) {
    for (const layout l : all_layouts) {
      for (const blas::op op : ops) {
        for (const std::int64_t n : {0, 1, 9}) {
          scene s;
          auto& a = s.batch(type, 3, 6, n, l);
          auto& x = s.tensor(type, {3, n}, {2 * n + 3, 2});
          auto& y = s.tensor(type, {3, 6}, {1, 3});  // the vectors interleaved
          const scalar alpha = factor(type, 1.25, -0.5);
          const scalar beta = l == layout::row ? scalar(0) : factor(type, -0.75, 2);
          s.run(blas::gemv_batched{
              .a = a.view, .x = x.view, .y = y.view, .alpha = alpha, .beta = beta, .op_a = op});
          const matrix now = s.now(y);
          for (std::int64_t i = 0; i < 3; ++i) {
            for (std::int64_t row = 0; row < 6; ++row) {
              number sum = 0;
              for (std::int64_t j = 0; j < n; ++j)
                sum += applied(op, a.before(i))(row, j) * x.before()(i, j);
              s.expect_near(type, now(i, row),
                            as_number(alpha) * sum + as_number(beta) * y.before()(i, row),
                            3 * static_cast<double>(n + 1), n, real_of(type), "an element");
            }
          }
        }
      }
    }
  }
}

TEST(BlasBatched, TrsmBatchedSolves) {
  for (const dtype type : classic_types) {
    for (const layout la : all_layouts) {
      for (const layout lb : all_layouts) {
        for (const blas::side side : sides) {
          for (const blas::uplo uplo : triangles) {
            for (const blas::diag diag : diagonals) {
              for (const blas::op op : ops) {
                scene s;
                const std::int64_t order = side == blas::side::left ? 5 : 4;
                // One whose matrices follow each other without gaps, or any other.
                const auto batch = [&](std::int64_t rows, std::int64_t columns, layout l) -> auto& {
                  return l == layout::row
                             ? s.tensor(type, {3, rows, columns}, {rows * columns, columns, 1})
                             : s.batch(type, 3, rows, columns, l);
                };
                auto& a = batch(order, order, la);
                s.make_solvable(a);
                s.hide_all_but(a, uplo, diag);
                auto& b = batch(5, 4, lb);
                const scalar alpha = factor(type, 1.25, -0.5);
                s.run(blas::trsm_batched{.a = a.view,
                                         .b = b.view,
                                         .alpha = alpha,
                                         .side = side,
                                         .uplo = uplo,
                                         .diag = diag,
                                         .op_a = op});
                for (std::int64_t i = 0; i < 3; ++i) {
                  const matrix t = applied(op, triangular(a.before(i), uplo, diag));
                  const matrix right = as_number(alpha) * b.before(i);
                  if (side == blas::side::left) {
                    s.expect_solution(b, t, right, i);
                  } else {
                    s.expect_solution(type, transposed(s.now(b, i)), transposed(t),
                                      transposed(right));
                  }
                }
              }
            }
          }
        }
      }
    }
  }
}

TEST(BlasBatched, AmongThousandsThatShareOneAWhatIsWrittenAndReadIsNamed) {
  // Only looked at; as many as one list of a request may have.
  constexpr std::int64_t count = 65'536;
  std::vector<float> memory(count + 8);
  const auto at = [&](std::int64_t place) {
    return any_tensor::unowned(reinterpret_cast<std::byte*>(memory.data() + place), dtype::f32,
                               {1, 1});
  };
  blas::gemm_batched r;
  for (std::int64_t i = 0; i < count; ++i) {
    r.a.push_back(at(count));
    r.b.push_back(at(count + 1 + i % 2));
    r.c.push_back(at(count - 1 - i));
  }
  EXPECT_TRUE(validate(r));
  const auto refusal = [&](std::size_t index, const any_tensor& c) {
    blas::gemm_batched wrong = r;
    wrong.c[index] = c;
    const auto verdict = validate(wrong);
    EXPECT_FALSE(verdict);
    return verdict ? std::string() : verdict.error().message;
  };
  EXPECT_EQ(refusal(40'000, at(count)),
            "blas.gemm_batched: c[40000] is written and must not overlap a[0]");
  EXPECT_EQ(refusal(7, at(count + 2)),
            "blas.gemm_batched: c[7] is written and must not overlap b[1]");
  EXPECT_EQ(refusal(7, r.c[30'000]),
            "blas.gemm_batched: c[7] is written and must not overlap c[30000]");
  r.a[50'000] = r.c[123];
  EXPECT_EQ(refusal(0, r.c[0]),
            "blas.gemm_batched: c[123] is written and must not overlap a[50000]");
}

TEST(BlasBatched, RefuseWhatTheyCannotDo) {
  scene s;
  const auto batch = [&](dtype type, std::int64_t count, std::int64_t m, std::int64_t n) {
    return s.batch(type, count, m, n, layout::row).view;
  };
  const auto tensor = [&](dtype type, std::int64_t m, std::int64_t n, layout l = layout::row) {
    return s.matrix_of(type, m, n, l).view;
  };
  const auto f32 = dtype::f32;
  const auto a = batch(f32, 2, 3, 4);
  const auto b = batch(f32, 2, 4, 5);
  const auto c = batch(f32, 2, 3, 5);
  s.refuse(blas::gemm_strided_batched{.a = a, .b = batch(f32, 3, 4, 5), .c = c},
           errc::shape_mismatch,
           "b must have extent 2 in dimension 0 (batch) because a is [2, 3, 4]");
  s.refuse(blas::gemm_strided_batched{.a = a, .b = b, .c = batch(dtype::f64, 2, 3, 5)},
           errc::type_mismatch, "c must be f32 because a is f32 and b is f32; it is f64");

  const auto one_a = tensor(f32, 3, 4);
  const auto one_b = tensor(f32, 4, 5);
  const auto one_c = tensor(f32, 3, 5);
  s.refuse(blas::gemm_batched{.a = {one_a}, .b = {one_b}, .c = {}}, errc::shape_mismatch,
           "a, b and c must be lists of equal length; a has 1, b has 1, c has 0");
  s.refuse(blas::gemm_batched{.a = {one_a, tensor(f32, 3, 4, layout::column)},
                              .b = {one_b, one_b},
                              .c = {one_c, tensor(f32, 3, 5)}},
           errc::layout_unsupported,
           "a[1] must have the type, extents and strides of a[0]; a[1] is");
  s.refuse(blas::gemm_batched{.a = {one_a, one_a}, .b = {one_b, one_b}, .c = {one_c, one_c}},
           errc::aliasing, "is written and must not overlap c");
  s.refuse(
      blas::gemm_batched{
          .a = {one_a, any_tensor()}, .b = {one_b, one_b}, .c = {one_c, tensor(f32, 3, 5)}},
      errc::invalid_argument, "a[1] is not given");
  s.refuse(blas::gemm_grouped{.a = {one_a}, .b = {one_b}, .c = {one_c}, .alpha = {1, 2}},
           errc::shape_mismatch, "alpha has 2 factors for 1 problems");
  s.refuse(blas::gemm_grouped{.a = {one_a, tensor(dtype::f64, 2, 2)},
                              .b = {one_b, tensor(dtype::f64, 2, 2)},
                              .c = {one_c, tensor(dtype::f64, 2, 2)}},
           errc::type_mismatch, "a[1] is f64 but a[0] is f32");
  s.refuse(blas::gemm_grouped{.a = {one_a}, .b = {one_a}, .c = {one_c}}, errc::shape_mismatch,
           "b[0] must have 4 rows because a[0] is [3, 4]; it is [3, 4]");
  s.refuse(blas::gemm_grouped{.a = {one_a}, .b = {one_b}, .c = {one_c}, .beta = {number(0, 1)}},
           errc::invalid_argument, "beta has an imaginary part");

  s.refuse(
      blas::gemv_batched{.a = a, .x = s.tensor(f32, {2, 4}, {4, 0}).view, .y = tensor(f32, 2, 3)},
      errc::layout_unsupported, "the vectors of x must have");
  s.refuse(blas::trsm_batched{.a = batch(f32, 2, 3, 3), .b = batch(f32, 2, 4, 3)},
           errc::shape_mismatch, "a is [2, 3, 3]");
  s.refuse(blas::trsm_batched{.a = a, .b = batch(f32, 2, 3, 4)}, errc::shape_mismatch,
           "a must have 3 columns (m)");
}

}  // namespace
}  // namespace troupe::conformance
