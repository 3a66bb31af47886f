#include "matmul_cases.hpp"

#include <cmath>

namespace troupe::conformance {
namespace {

using blaslt::arithmetic;
using blaslt::combination;
using blaslt::combinations;
using blaslt::epilogue;
using blaslt::scaling;

constexpr added additions[] = {added::nothing, added::another, added::d_itself};

bool is_narrow(const combination& types) {
  return types.computed == arithmetic::fp8 || types.computed == arithmetic::i32 ||
         types.computed == arithmetic::i32_scaled;
}
/// d and c have one type.
bool can_be_in_place(const combination& types) { return types.c == types.d; }

/// Operands as the epilogue needs them.
matmul_case case_of(const combination& types, epilogue e) {
  matmul_case c{.types = types, .epilogue = e};
  if (e == epilogue::bgrad_a) c.row_major_a = false;
  if (e == epilogue::bgrad_b) c.row_major_b = true;
  return c;
}
bool runs(const matmul_case& c) {
  matmul_under_test one(c);
  const bool offered = one.run();
  return offered && !testing::Test::HasFailure();
}

TEST(BlasltMatmul, MultipliesEveryTypeWithEveryEpilogueInEveryOrder) {
  for (const combination& types : combinations) {
    for (const epilogue e : all_epilogues) {
      if (!has_epilogue(types, e)) continue;
      for (const bool row_major_d : {true, false}) {
        if (!row_major_d && needs_row_major_d(e)) continue;
        for (const bool padded : {false, true}) {
          matmul_case c = case_of(types, e);
          c.row_major_d = row_major_d;
          c.padded = padded;
          runs(c);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(BlasltMatmul, AddsCWhichMayBeDItself) {
  for (const combination& types : combinations) {
    for (const epilogue e : {epilogue::none, epilogue::gelu_bias, epilogue::relu_aux,
                             epilogue::drelu_bgrad, epilogue::bgrad_b}) {
      if (!has_epilogue(types, e)) continue;
      for (const added what : additions) {
        if (what == added::d_itself && !can_be_in_place(types)) continue;
        for (const bool padded : {false, true}) {
          matmul_case c = case_of(types, e);
          c.c = what;
          c.padded = padded;
          runs(c);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(BlasltMatmul, TakesFactorsInAnyOrder) {
  for (const combination& types : combinations) {
    if (is_narrow(types)) continue;  // k is contiguous there
    for (const bool row_major_a : {true, false}) {
      for (const bool row_major_b : {true, false}) {
        for (const bool row_major_d : {true, false}) {
          for (const bool padded : {false, true}) {
            runs({.types = types,
                  .m = 13,
                  .n = 21,
                  .k = 17,
                  .row_major_a = row_major_a,
                  .row_major_b = row_major_b,
                  .row_major_d = row_major_d,
                  .padded = padded,
                  .c = added::another});
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(BlasltMatmul, TakesEveryShape) {
  for (const combination& types : combinations) {
    const std::int64_t unit = types.computed == arithmetic::fp8 ? 16 : is_narrow(types) ? 4 : 1;
    for (const epilogue e : {epilogue::none, epilogue::gelu_aux_bias, epilogue::drelu_bgrad}) {
      if (!has_epilogue(types, e)) continue;
      for (const std::int64_t m : {0, 1, 5, 34}) {
        for (const std::int64_t n : {0, 1, 3}) {
          for (const std::int64_t k : {1, 4, 19}) {
            matmul_case c = case_of(types, e);
            c.m = m;
            c.n = n * unit;
            c.k = k * unit;
            const bool empty = m == 0 || n == 0;
            if (blaslt::sums_rows(e) && (empty || c.k == 1)) continue;  // refused
            runs(c);
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

// A matrix of one row or one column lies in both orders: aux and conjugation say which is meant.
TEST(BlasltMatmul, TakesOneRowOrColumnInEitherOrder) {
  for (const combination& types : combinations) {
    const std::int64_t unit = types.computed == arithmetic::fp8 ? 16 : is_narrow(types) ? 4 : 1;
    for (const epilogue e : all_epilogues) {
      if (!has_epilogue(types, e)) continue;
      for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{1, 20}, {20, 1}, {1, 1}}) {
        for (const bool row_major_d : {true, false}) {
          if (!row_major_d && needs_row_major_d(e)) continue;
          for (const bool padded : {false, true}) {
            matmul_case c = case_of(types, e);
            c.m = m == 1 ? 1 : m * unit;
            c.n = n == 1 ? 1 : n * unit;
            c.k = unit == 1 ? 56 : 4 * unit;
            c.row_major_d = row_major_d;
            c.padded = padded;
            // Only the other order has a contiguous extent that narrow types can be multiplied to.
            const std::int64_t along = row_major_d ? c.n : c.m;
            const bool one_order = padded || blaslt::has_aux(e) || needs_row_major_d(e);
            if (unit > 1 && along == 1 && (one_order || c.m * c.n == 1)) continue;
            runs(c);
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(BlasltMatmul, MultipliesBatches) {
  for (const combination& types : combinations) {
    for (const epilogue e : {epilogue::none, epilogue::relu_bias, epilogue::gelu_aux_bias,
                             epilogue::relu_aux, epilogue::dgelu_bgrad, epilogue::bgrad_a}) {
      if (!has_epilogue(types, e)) continue;
      for (const std::int64_t batch : {1, 3}) {
        for (const bool padded : {false, true}) {
          matmul_case c = case_of(types, e);
          c.batch = batch;
          c.padded = padded;
          c.shared_b = padded;
          c.c = padded ? added::another : added::nothing;
          runs(c);
          if (HasFailure()) return;
        }
      }
    }
  }
  EXPECT_FALSE(HasFailure());
  matmul_case none = case_of(combinations[1], epilogue::none);
  none.batch = 2;
  none.m = 0;
  runs(none);
}

TEST(BlasltMatmul, ConjugatesComplexFactors) {
  for (const combination& types : combinations) {
    if (types.computed != arithmetic::complex) continue;
    for (const blas::op op_a : ops) {
      for (const blas::op op_b : ops) {
        for (const bool row_major_a : {true, false}) {
          for (const bool row_major_b : {true, false}) {
            for (const bool row_major_d : {true, false}) {
              // Conjugation without transposition is nothing that cuBLASLt has.
              if (op_a != blas::op::none && row_major_a == row_major_d) continue;
              if (op_b != blas::op::none && row_major_b == row_major_d) continue;
              runs({.types = types,
                    .m = 7,
                    .n = 5,
                    .k = 9,
                    .row_major_a = row_major_a,
                    .row_major_b = row_major_b,
                    .row_major_d = row_major_d,
                    .c = added::another,
                    .op_a = op_a,
                    .op_b = op_b});
              if (HasFailure()) return;
            }
          }
        }
      }
    }
  }
}

TEST(BlasltMatmul, ConjugatesForOneRowOrColumnWhateverTheOrders) {
  for (const combination& types : combinations) {
    if (types.computed != arithmetic::complex) continue;
    for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{1, 5}, {7, 1}, {1, 1}}) {
      for (const bool of_a : {true, false}) {
        for (const bool row_major : {true, false}) {
          for (const bool row_major_d : {true, false}) {
            runs({.types = types,
                  .m = m,
                  .n = n,
                  .k = 9,
                  .row_major_a = row_major,
                  .row_major_b = row_major,
                  .row_major_d = row_major_d,
                  .c = added::another,
                  .op_a = of_a ? blas::op::conjugate : blas::op::none,
                  .op_b = of_a ? blas::op::none : blas::op::conjugate});
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(BlasltMatmul, ScalesFp8AndAnswersTheLargestMagnitudes) {
  for (const combination& types : combinations) {
    if (types.computed != arithmetic::fp8) continue;
    for (const epilogue e : all_epilogues) {
      if (!has_epilogue(types, e)) continue;
      for (const added what : {added::nothing, added::another}) {
        if (what == added::nothing && types.c != types.d && types.c == dtype::f16 &&
            !blaslt::has_bias(e) && !blaslt::sums_rows(e)) {
          continue;  // without c and bias the type of c is bf16
        }
        matmul_case c = case_of(types, e);
        c.scaled = true;
        c.c = what;
        runs(c);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(BlasltMatmul, ScalesRowsColumnsAndBlocks) {
  constexpr std::pair<scaling, scaling> pairs[] = {{scaling::outer_vector, scaling::outer_vector},
                                                   {scaling::block_128, scaling::block_128},
                                                   {scaling::block_128, scaling::block_128x128},
                                                   {scaling::block_128x128, scaling::block_128}};
  for (const combination& types : combinations) {
    if (types.computed != arithmetic::fp8 || blaslt::is_fp8(types.d)) continue;
    for (const auto& [of_a, of_b] : pairs) {
      for (const bool row_major_d : {true, false}) {
        for (const added what : {added::nothing, added::another}) {
          runs({.types = types,
                .m = 144,
                .n = 144,
                .k = 160,
                .row_major_d = row_major_d,
                .c = what,
                .scaling_a = of_a,
                .scaling_b = of_b});
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(BlasltMatmul, TakesMathModesAndFastAccumulation) {
  for (const combination& types : combinations) {
    const bool f32 = types.a == dtype::f32 || types.a == dtype::c64;
    for (const auto mode : {blas::math_mode::tf32, blas::math_mode::bf16x9}) {
      if (f32) runs({.types = types, .c = added::another, .math = mode});
    }
    if (types.computed == arithmetic::fp8) {
      runs({.types = types, .c = added::another, .fast_accumulation = true});
    }
    if (HasFailure()) return;
  }
}

TEST(BlasltMatmul, IsTheSameWithAKernelThatWasMeasured) {
  for (const combination& types : combinations) {
    for (const added what : additions) {
      if (what == added::d_itself && !can_be_in_place(types)) continue;
      // Twice, because the second time the choice is kept.
      for (int i = 0; i < 2; ++i)
        runs({.types = types, .c = what, .tuning = blaslt::tuning::timed});
      if (HasFailure()) return;
    }
  }
}

// A layer's data for its backward pass is the input of the backward pass.
TEST(BlasltMatmul, GoesForwardAndBackward) {
  constexpr std::pair<epilogue, epilogue> passes[] = {
      {epilogue::relu_aux_bias, epilogue::drelu_bgrad},
      {epilogue::gelu_aux_bias, epilogue::dgelu_bgrad}};
  for (const combination& types : combinations) {
    if (types.computed != arithmetic::f32 && types.computed != arithmetic::f64) continue;
    for (const auto& [forward, backward] : passes) {
      matmul_under_test there(case_of(types, forward));
      if (!there.run() || HasFailure()) continue;
      const std::vector<number> kept = there.s.elements_now(*there.aux);
      matmul_under_test back(case_of(types, backward));
      back.s.fill(*back.aux, kept);
      back.run();
      if (HasFailure()) return;
    }
  }
}

// x is exact: all that is off is gelu itself, over all of its bend.
TEST(BlasltMatmul, ComputesGeluByItsTanh) {
  for (const combination& types : combinations) {
    if (types.computed != arithmetic::f32 && types.computed != arithmetic::f64) continue;
    matmul_under_test one({.types = types, .epilogue = epilogue::gelu, .m = 1024, .n = 16, .k = 8});
    std::vector<number> x(one.a->values.size());
    for (std::size_t i = 0; i < x.size(); i += 8)
      x[i] = static_cast<double>(i) * 0x1p-9 - 8;
    one.s.fill(*one.a, x);
    one.s.fill(*one.b, number(1));
    one.request.alpha = 1;
    one.run();
    if (HasFailure()) return;
  }
}

TEST(BlasltMatmul, SaturatesNarrowResults) {
  for (const combination& types : combinations) {
    const bool i8 = types.d == dtype::i8;
    if (!i8 && !blaslt::is_fp8(types.d)) continue;
    matmul_under_test one({.types = types});
    one.s.fill(*one.a, number(i8 ? 100 : 400));
    one.s.fill(*one.b, number(i8 ? -100 : 400));
    one.request.alpha = 1;
    if (!one.s.run_if_offered(one.request)) continue;
    const double limit = i8 ? -128 : types.d == dtype::e4m3 ? 448 : 57344;
    for (const number& x : one.s.elements_now(*one.d))
      ASSERT_EQ(x.real(), limit) << one.s.note();
  }
}

// An odd sum above 2^24 is none of f32's numbers.
TEST(BlasltMatmul, AddsIntegersExactly) {
  constexpr combination types = combinations[8];
  static_assert(types.computed == arithmetic::i32);
  for (const std::int64_t k : {1040, 1044, 2084, 9988}) {
    matmul_under_test one({.types = types, .k = k});
    one.s.fill(*one.a, number(127));
    one.s.fill(*one.b, number(127));
    one.request.alpha = 1;
    if (!one.s.run_if_offered(one.request)) return;
    for (const number& x : one.s.elements_now(*one.d))
      ASSERT_EQ(x.real(), static_cast<double>(k * 127 * 127)) << one.s.note();
  }
}

// Odd sums above 2^24, which f32 does not hold, whatever the order of the terms.
TEST(BlasltMatmul, AddsIntegersToOddSums) {
  constexpr combination types = combinations[8];
  static_assert(types.computed == arithmetic::i32);
  for (const std::int64_t k : {2048, 4096}) {
    matmul_under_test one({.types = types, .k = k});
    std::vector<number> rows(one.a->values.size(), number(127));
    for (std::size_t i = 0; i < rows.size(); i += static_cast<std::size_t>(k))
      rows[i] = 126;
    one.s.fill(*one.a, rows);
    one.s.fill(*one.b, number(127));
    one.request.alpha = 1;
    if (!one.s.run_if_offered(one.request)) return;
    for (const number& x : one.s.elements_now(*one.d))
      ASSERT_EQ(x.real(), static_cast<double>(k * 127 * 127 - 127)) << one.s.note();
  }
}

TEST(BlasltMatmul, AddsIntegersModulo2To32) {
  constexpr combination types = combinations[8];
  static_assert(types.computed == arithmetic::i32);
  matmul_under_test one({.types = types, .k = 4096});
  one.s.fill(*one.a, number(-128));
  one.s.fill(*one.b, number(-128));
  one.request.alpha = 100;
  if (!one.s.run_if_offered(one.request)) return;
  const auto wrapped = static_cast<std::int32_t>(4096LL * 128 * 128 * 100);
  for (const number& x : one.s.elements_now(*one.d))
    ASSERT_EQ(x.real(), wrapped) << one.s.note();
}

}  // namespace
}  // namespace troupe::conformance
