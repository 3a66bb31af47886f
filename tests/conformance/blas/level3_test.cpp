#include "product_types.hpp"

#include <troupe/blas/level3.hpp>

#include <limits>

namespace troupe::conformance {
namespace {

using blas::op;

struct gemm_case {
  std::int64_t m, n, k;
  layout a = layout::row, b = layout::row, c = layout::row;
  scalar alpha = 1, beta = 0;
  op op_a = op::none, op_b = op::none;
};

void check_gemm(const product_type& type, const gemm_case& g) {
  scene s;
  s.name(std::string(to_string(type.in)) + " m=" + std::to_string(g.m) +
         " n=" + std::to_string(g.n) + " k=" + std::to_string(g.k) + " a " + to_string(g.a) +
         " b " + to_string(g.b) + " c " + to_string(g.c));
  auto& a = s.matrix_of(type.in, g.m, g.k, g.a);
  auto& b = s.matrix_of(type.in, g.k, g.n, g.b);
  auto& c = s.matrix_of(type.out, g.m, g.n, g.c);
  s.run(blas::gemm{.a = a.view,
                   .b = b.view,
                   .c = c.view,
                   .alpha = g.alpha,
                   .beta = g.beta,
                   .op_a = g.op_a,
                   .op_b = g.op_b});
  const matrix left = applied(g.op_a, a.before());
  const matrix right = applied(g.op_b, b.before());
  const number alpha = as_number(g.alpha);
  const number beta = as_number(g.beta);
  const matrix expected = alpha * (left * right) + beta * c.before();
  const matrix bound = std::abs(alpha) * (magnitude(left) * magnitude(right)) +
                       std::abs(beta) * magnitude(c.before());
  s.expect(c, expected, bound, g.k, type.compute);
}

TEST(BlasGemm, MultipliesEveryTypeInEveryLayout) {
  for (const auto& type : product_types) {
    for (const layout a : all_layouts) {
      for (const layout b : all_layouts) {
        for (const layout c : all_layouts) {
          const bool integer = type.in == dtype::i8;
          check_gemm(type, {.m = 13, .n = 7, .k = 19, .a = a, .b = b, .c = c});
          check_gemm(type, {.m = 5,
                            .n = 17,
                            .k = 3,
                            .a = a,
                            .b = b,
                            .c = c,
                            .alpha = integer ? scalar(-3) : factor(type.out, 1.25, -0.5),
                            .beta = integer ? scalar(2) : factor(type.out, -0.75, 2)});
        }
      }
    }
  }
}

TEST(BlasGemm, ConjugatesEitherOperand) {
  for (const auto& type : product_types) {
    for (const op a : ops) {
      for (const op b : ops) {
        for (const layout la : {layout::row, layout::column_padded}) {
          for (const layout lb : {layout::row, layout::column_padded}) {
            for (const layout lc : {layout::row, layout::column_padded}) {
              check_gemm(
                  type, {.m = 9, .n = 11, .k = 6, .a = la, .b = lb, .c = lc, .op_a = a, .op_b = b});
            }
          }
        }
      }
    }
  }
}

TEST(BlasGemm, AcceptsEmptyAndOddSizes) {
  for (const auto& type : product_types) {
    for (const std::int64_t m : edge_sizes()) {
      for (const std::int64_t n : edge_sizes()) {
        for (const std::int64_t k : edge_sizes()) {
          if (m + n + k > 80) continue;
          check_gemm(type, {.m = m, .n = n, .k = k, .c = layout::column});
          check_gemm(type, {.m = m, .n = n, .k = k, .a = layout::column, .alpha = 2, .beta = -3});
        }
      }
    }
  }
}

TEST(BlasGemm, IsRightBeyondOneTileAndOneThread) {
  for (const auto& type : product_types) {
    check_gemm(type, {.m = 131, .n = 97, .k = 211, .b = layout::column});
  }
  check_gemm(product_types[8], {.m = 3, .n = 5, .k = 2500, .alpha = -1, .beta = 1});
}

TEST(BlasGemm, IsRightForFewRowsAndContiguousColumns) {
  for (const auto& type : product_types) {
    if (type.in != dtype::f32 && type.in != dtype::bf16) continue;
    for (const std::int64_t m : {1, 2, 3, 4, 7, 8, 15, 17}) {
      check_gemm(type, {.m = m, .n = 64, .k = 64, .b = layout::column});
      check_gemm(type, {.m = m, .n = 97, .k = 131, .b = layout::column_padded});
      check_gemm(type, {.m = m, .n = 75, .k = 100, .b = layout::column, .alpha = 2, .beta = -3});
    }
    check_gemm(type, {.m = 3, .n = 300, .k = 65, .a = layout::column, .b = layout::column});
    check_gemm(type, {.m = 6, .n = 300, .k = 100, .b = layout::column});
  }
}

TEST(BlasGemm, LeavesOldContentUnreadWhenBetaIsZeroAndInputsWhenAlphaIs) {
  for (const auto& type : product_types) {
    check_gemm(type, {.m = 6, .n = 5, .k = 4, .alpha = 0, .beta = 0});
    check_gemm(type, {.m = 6, .n = 5, .k = 4, .alpha = 0, .beta = 2});
  }
}

TEST(BlasGemm, DoesNotReadMatricesWithoutWeight) {
  for (const auto& type : product_types) {
    if (type.in == dtype::i8) continue;  // an integer cannot tell that it was read
    for (const layout l : all_layouts) {
      for (const double alpha : {0.0, 1e-60}) {
        if (alpha != 0 && type.compute == dtype::f64) continue;  // it is zero in f32
        scene s;
        auto& a = s.matrix_of(type.in, 5, 4, l);
        auto& b = s.matrix_of(type.in, 4, 6, l);
        auto& c = s.matrix_of(type.out, 5, 6, l);
        s.fill(a, std::numeric_limits<double>::quiet_NaN());
        s.fill(b, std::numeric_limits<double>::infinity());
        s.run(blas::gemm{.a = a.view, .b = b.view, .c = c.view, .alpha = alpha, .beta = 2});
        s.expect_exactly(c, number(2) * c.before());
      }
    }
  }
}

TEST(BlasGemm, DoesNotReadOldContentThatABetaTooSmallForItsTypeWeighs) {
  for (const auto& type : product_types) {
    if (type.compute != dtype::f32) continue;
    scene s;
    auto& a = s.matrix_of(type.in, 5, 4, layout::row);
    auto& b = s.matrix_of(type.in, 4, 6, layout::row);
    auto& c = s.matrix_of(type.out, 5, 6, layout::row);
    s.fill(c, std::numeric_limits<double>::quiet_NaN());
    s.run(blas::gemm{.a = a.view, .b = b.view, .c = c.view, .beta = 1e-60});
    s.expect(c, a.before() * b.before(), magnitude(a.before()) * magnitude(b.before()), 4,
             type.compute);
  }
}

TEST(BlasGemm, WorksOnBlocksOfOneMatrix) {
  scene s;
  auto& whole = s.matrix_of(dtype::f64, 12, 12, layout::row_padded);
  const auto block = [&](std::int64_t row, std::int64_t column, std::int64_t m,
                         std::int64_t n) -> test_tensor& {
    auto rows = whole.view.slice(0, row, row + m).value();
    return s.again(whole, rows.slice(1, column, column + n).value());
  };
  auto& a = block(5, 0, 7, 5);
  auto& b = block(0, 5, 5, 7);
  auto& c = block(5, 5, 7, 7);
  s.run(blas::gemm{.a = a.view, .b = b.view, .c = c.view, .alpha = -1, .beta = 1});
  s.expect(c, c.before() - a.before() * b.before(),
           magnitude(a.before()) * magnitude(b.before()) + magnitude(c.before()), 5, dtype::f64);
}

TEST(BlasGeam, AddsInEveryLayout) {
  for (const dtype type : classic_types) {
    for (const layout la : all_layouts) {
      for (const layout lb : all_layouts) {
        for (const layout lc : all_layouts) {
          for (const op op_a : ops) {
            for (const op op_b : ops) {
              scene s;
              auto& a = s.matrix_of(type, 7, 5, la);
              auto& b = s.matrix_of(type, 7, 5, lb);
              auto& c = s.matrix_of(type, 7, 5, lc);
              const scalar alpha = factor(type, 1.5, -1);
              const scalar beta = factor(type, -0.5, 2);
              s.run(blas::geam{.a = a.view,
                               .b = b.view,
                               .c = c.view,
                               .alpha = alpha,
                               .beta = beta,
                               .op_a = op_a,
                               .op_b = op_b});
              const matrix first = as_number(alpha) * applied(op_a, a.before());
              const matrix second = as_number(beta) * applied(op_b, b.before());
              s.expect(c, first + second, magnitude(first) + magnitude(second), 2, real_of(type));
            }
          }
        }
      }
    }
  }
}

TEST(BlasGeam, WorksInPlaceAndOnNothing) {
  for (const dtype type : classic_types) {
    for (const std::int64_t n : {0, 1, 6}) {
      scene s;
      auto& a = s.matrix_of(type, n, 4, layout::row_padded);
      auto& b = s.matrix_of(type, n, 4, layout::column);
      s.run(blas::geam{.a = a.view, .b = b.view, .c = b.view, .alpha = 2, .beta = -1});
      s.expect(b, number(2) * a.before() - b.before(),
               number(2) * magnitude(a.before()) + magnitude(b.before()), 2, real_of(type));
    }
  }
}

TEST(BlasGeam, DoesNotReadAnOperandWithoutWeight) {
  for (const dtype type : classic_types) {
    for (const bool first : {false, true}) {
      for (const double none : {0.0, 1e-60}) {
        if (none != 0 && real_of(type) == dtype::f64) continue;  // it is zero in f32
        scene s;
        auto& a = s.matrix_of(type, 3, 4, layout::row);
        auto& b = s.matrix_of(type, 3, 4, layout::column);
        auto& c = s.matrix_of(type, 3, 4, layout::row);
        s.fill(first ? a : b, std::numeric_limits<double>::quiet_NaN());
        s.run(blas::geam{.a = a.view,
                         .b = b.view,
                         .c = c.view,
                         .alpha = first ? none : 1,
                         .beta = first ? 1 : none});
        s.expect_exactly(c, (first ? b : a).before());
      }
    }
  }
}

TEST(BlasDgmm, ScalesRowsOrColumns) {
  for (const dtype type : classic_types) {
    for (const layout l : all_layouts) {
      for (const blas::side side : sides) {
        for (const std::int64_t n : {0, 1, 5}) {
          for (const bool in_place : {false, true}) {
            scene s;
            auto& a = s.matrix_of(type, 6, n, l);
            auto& x = s.vector(type, side == blas::side::left ? 6 : n, 2);
            auto& c = in_place ? a : s.matrix_of(type, 6, n, l);
            s.run(blas::dgmm{.a = a.view, .x = x.view, .c = c.view, .side = side});
            matrix expected = a.before();
            for (std::int64_t i = 0; i < 6; ++i) {
              for (std::int64_t j = 0; j < n; ++j)
                expected(i, j) *= x.before()(side == blas::side::left ? i : j, 0);
            }
            s.expect(c, expected, magnitude(expected), 2, real_of(type));
          }
        }
      }
    }
  }
}

TEST(BlasGeamAndDgmm, RefuseWhatTheyCannotDo) {
  scene s;
  const auto tensor = [&](dtype type, std::int64_t m, std::int64_t n, layout l = layout::row) {
    return s.matrix_of(type, m, n, l).view;
  };
  const auto a = tensor(dtype::f32, 4, 4);
  const auto b = tensor(dtype::f32, 4, 4);
  s.refuse(blas::geam{.a = a, .b = b, .c = a.transpose()}, errc::aliasing, "c is written");
  s.refuse(blas::geam{.a = a, .b = tensor(dtype::f64, 4, 4), .c = b}, errc::type_mismatch,
           "b must be f32");
  s.refuse(blas::geam{.a = a, .b = a, .c = b, .beta = number(0, 1)}, errc::invalid_argument,
           "beta must be real because a is f32; it is 0+1i");
  const auto x = s.vector(dtype::f32, 4).view;
  s.refuse(blas::dgmm{.a = a, .x = s.vector(dtype::f32, 3).view, .c = b}, errc::shape_mismatch,
           "x must have 4 elements (n) because a is [4, 4]");
  s.refuse(blas::dgmm{.a = a, .x = x, .c = tensor(dtype::f32, 4, 4, layout::column)},
           errc::layout_unsupported, "c and a must both be row-major or both column-major");
  s.refuse(blas::dgmm{.a = a, .x = x, .c = tensor(dtype::f64, 4, 4)}, errc::type_mismatch,
           "c must be f32");
}

TEST(BlasGemm, RefusesWhatItCannotDo) {
  scene s;
  const auto tensor = [&](dtype type, std::int64_t m, std::int64_t n) {
    return s.matrix_of(type, m, n, layout::row).view;
  };
  const auto a = tensor(dtype::f32, 3, 4);
  const auto b = tensor(dtype::f32, 4, 5);
  const auto c = tensor(dtype::f32, 3, 5);
  s.refuse(blas::gemm{.a = a, .b = b, .c = tensor(dtype::f32, 3, 4)}, errc::shape_mismatch,
           "c must have 5 columns (n) because b is [4, 5]");
  s.refuse(blas::gemm{.a = a, .b = tensor(dtype::f64, 4, 5), .c = c}, errc::type_mismatch,
           "b must be f32 because a is f32; it is f64");
  s.refuse(blas::gemm{.a = tensor(dtype::f16, 3, 4),
                      .b = tensor(dtype::f16, 4, 5),
                      .c = tensor(dtype::f64, 3, 5)},
           errc::type_mismatch, "; it is f64");
  s.refuse(blas::gemm{.a = a, .b = b, .c = c, .alpha = number(1, 2)}, errc::invalid_argument,
           "alpha must be real because c is f32; it is 1+2i");
  s.refuse(blas::gemm{.a = tensor(dtype::i8, 3, 4),
                      .b = tensor(dtype::i8, 4, 5),
                      .c = tensor(dtype::i32, 3, 5),
                      .alpha = 0.5},
           errc::invalid_argument, "alpha is 0.5, it must be a 32-bit integer where c is i32");
  s.refuse(blas::gemm{.a = a, .b = b, .c = s.tensor(dtype::f32, {3, 5}, {20, 2}).view},
           errc::layout_unsupported, "strides [20, 2]");
  s.refuse(blas::gemm{.a = s.tensor(dtype::f32, {3, 4}, {2, 1}).view, .b = b, .c = c},
           errc::layout_unsupported, "strides [2, 1]");
  s.refuse(blas::gemm{.a = s.tensor(dtype::f32, {3, 4}, {0, 1}).view, .b = b, .c = c},
           errc::layout_unsupported, "strides [0, 1]");
  s.refuse(blas::gemm{.a = tensor(dtype::f64, 3, 4),
                      .b = tensor(dtype::f64, 4, 5),
                      .c = tensor(dtype::f64, 3, 5),
                      .math = blas::math_mode::tf32},
           errc::invalid_argument, "math is tf32, but it must be strict unless");
  std::byte place{};
  const std::int64_t far[] = {std::int64_t{1} << 61, 1};
  s.refuse(blas::gemm{.a = any_tensor::unowned(&place, dtype::f32, {3, 4}, far), .b = b, .c = c},
           errc::size_overflow, "63 bits");
}

// Each product is exact in i32; their sum is so modulo 2^32.
TEST(BlasGemm, OfI8WrapsModuloTwoToTheThirtyTwo) {
  constexpr std::int64_t k = 1 << 18;  // 2^18 products of 2^14 are 2^32
  for (const std::int64_t terms : {k - 1, k, k + 1, k / 2}) {
    scene s;
    s.name(std::to_string(terms));
    auto& a = s.tensor(dtype::i8, {1, terms}, {terms, 1});
    auto& b = s.tensor(dtype::i8, {terms, 1}, {1, 1});
    auto& c = s.tensor(dtype::i32, {1, 1}, {1, 1});
    s.fill(a, -128);
    s.fill(b, -128);
    s.run(blas::gemm{.a = a.view, .b = b.view, .c = c.view});
    const auto wrapped = static_cast<std::int32_t>(static_cast<std::uint32_t>(terms << 14));
    EXPECT_EQ(s.elements_now(c)[0].real(), static_cast<double>(wrapped)) << s.note();
  }
}

// An odd sum above 2^24 is none of f32's numbers.
TEST(BlasGemm, OfI8IsExact) {
  for (const std::int64_t terms : {1040, 1041, 2081, 9999}) {
    scene s;
    s.name(std::to_string(terms));
    auto& a = s.tensor(dtype::i8, {1, terms}, {terms, 1});
    auto& b = s.tensor(dtype::i8, {terms, 1}, {1, 1});
    auto& c = s.tensor(dtype::i32, {1, 1}, {1, 1});
    s.fill(a, 127);
    s.fill(b, 127);
    s.run(blas::gemm{.a = a.view, .b = b.view, .c = c.view});
    EXPECT_EQ(s.elements_now(c)[0].real(), static_cast<double>(terms * 127 * 127)) << s.note();
  }
}

TEST(BlasGemm, DeterministicGivesTheSameBitsEachTime) {
  for (const dtype type : {dtype::f32, dtype::f64, dtype::c64, dtype::c128, dtype::f16}) {
    scene s;
    s.name(std::string(to_string(type)));
    // Large enough for several threads and for sums that are split.
    auto& a = s.matrix_of(type, 130, 700, layout::row);
    auto& b = s.matrix_of(type, 700, 90, layout::column);
    auto& first = s.matrix_of(type, 130, 90, layout::row);
    s.run(blas::gemm{.a = a.view, .b = b.view, .c = first.view, .deterministic = true});
    const std::vector<std::byte> bits = s.bytes_now(first);
    for (int i = 0; i < 5; ++i) {
      auto& again = s.matrix_of(type, 130, 90, layout::row);
      s.run(blas::gemm{.a = a.view, .b = b.view, .c = again.view, .deterministic = true});
      EXPECT_EQ(s.bytes_now(again), bits) << s.note();
    }
  }
}

TEST(BlasGemm, TakesTheModesOfItsTypes) {
  for (const dtype type : {dtype::f32, dtype::c64}) {
    for (const blas::math_mode math : {blas::math_mode::tf32, blas::math_mode::bf16x9}) {
      scene s;
      auto& a = s.matrix_of(type, 9, 33, layout::row);
      auto& b = s.matrix_of(type, 33, 17, layout::row);
      auto& strict = s.matrix_of(type, 9, 17, layout::row);
      s.run(blas::gemm{.a = a.view, .b = b.view, .c = strict.view});
      const auto expected = s.elements_now(strict);
      auto& c = s.matrix_of(type, 9, 17, layout::row);
      s.run(blas::gemm{.a = a.view, .b = b.view, .c = c.view, .math = math});
      const auto got = s.elements_now(c);
      for (std::size_t i = 0; i < got.size(); ++i) {
        // 33 products of at most 2, of inputs with at least ten bits.
        ASSERT_LE(std::abs(got[i] - expected[i]), 33 * 2 * 2.0 / 1024) << s.note();
      }
    }
  }
}

}  // namespace
}  // namespace troupe::conformance
