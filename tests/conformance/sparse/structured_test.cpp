#include "structured_cases.hpp"

#include <cmath>
#include <limits>

namespace troupe::conformance {
namespace {

using blaslt::epilogue;
using sparse::structured_bytes;
using sparse::structured_check;
using sparse::structured_compress;
using sparse::structured_matmul;
using sparse::structured_prune;

constexpr epilogue structured_epilogues[] = {epilogue::none,      epilogue::relu,
                                             epilogue::gelu,      epilogue::bias,
                                             epilogue::relu_bias, epilogue::gelu_bias};

void run(const structured_case& c) { structured_product(c).run(); }

/// Cases of every pair of types, with what makes sense for them.
template <class F>
void for_each_pair(F f) {
  for (const auto& [weights, d] : structured_pairs()) {
    f(structured_case{.type = weights, .d_type = d});
    if (testing::Test::HasFailure()) return;
  }
}
bool narrow(const structured_case& c) { return size_of(c.type) == 1; }

// Only a few numbers, so that many are equal.
void fill_with_ties(scene& s, test_tensor& x) {
  std::vector<number> values = x.values;
  for (number& v : values)
    v = std::round(s.random(dtype::f32).real() * 2) / 2 * (x.view.type() == dtype::i8 ? 100 : 1);
  s.fill(x, values);
}

TEST(SparseStructured, KeepsTheTwoLargestOfEachFour) {
  for (const dtype type : structured_types) {
    for (const layout how : all_layouts) {
      for (const auto& [n, k] : std::initializer_list<std::pair<std::int64_t, std::int64_t>>{
               {0, 4}, {3, 0}, {1, 4}, {5, 12}, {33, 64}, {70, 260}}) {
        for (const bool ties : {false, true}) {
          for (const bool in_place : {false, true}) {
            scene s;
            s.name(std::string(to_string(type)) + " [" + std::to_string(n) + ", " +
                   std::to_string(k) + "]" + (in_place ? " in place" : ""));
            auto& x = s.matrix_of(type, n, k, how);
            if (ties) fill_with_ties(s, x);
            auto& y = in_place ? x : s.matrix_of(type, n, k, layout::row_padded);
            const matrix before = x.before();
            s.run(structured_prune{.x = x.view, .y = y.view});
            s.expect_exactly(y, pruned(before));
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(SparseStructured, KeepsNotANumberAndInfinityFirst) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (const dtype type : {dtype::f16, dtype::bf16}) {
    scene s;
    auto& x = s.matrix_of(type, 1, 8, layout::row);
    s.fill(x, {1, -inf, 2, nan, -3, -0.0, 3, -3});
    auto& y = s.matrix_of(type, 1, 8, layout::row);
    s.run(structured_prune{.x = x.view, .y = y.view});
    const auto now = s.elements_now(y);
    EXPECT_EQ(now[0], number(0));
    EXPECT_EQ(now[1], number(-inf));
    EXPECT_EQ(now[2], number(0));
    EXPECT_TRUE(std::isnan(now[3].real()));
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(now[static_cast<std::size_t>(4 + i)], number(i == 0 ? -3 : i == 2 ? 3 : 0));
  }
}

TEST(SparseStructured, SaysWhichGroupIsTheFirstThatIsNot24) {
  for (const dtype type : structured_types) {
    for (const layout how : all_layouts) {
      scene s;
      auto& x = s.matrix_of(type, 37, 72, how);
      std::vector<number> values(37 * 72);
      for (std::size_t i = 0; i < values.size(); i += 4)
        values[i + s.generator()() % 4] = values[i + s.generator()() % 4] = 1;
      s.fill(x, values);
      s.run(structured_check{.x = x.view});
      auto& compressed = s.vector(dtype::u8, structured_bytes(37, 72, size_of(type)));
      s.run(structured_compress{.x = x.view, .compressed = compressed.view});
      // Later ones do not matter, whatever order the rows are looked at in.
      for (const std::size_t at : {36UL * 72 + 68, 9UL * 72 + 8, 8UL * 72 + 64})
        for (std::size_t q = 0; q < 4; ++q)
          values[at + q] = q == 1 ? 0 : 1;
      auto& bad = s.matrix_of(type, 37, 72, how);
      s.fill(bad, values);
      constexpr std::string_view text = "weights [8, 64 to 67]: 3 are not zero, 2 of 4 may be";
      const auto expect_refusal = [&](const result<void>& answer) {
        ASSERT_FALSE(answer) << s.note();
        EXPECT_EQ(answer.error().code, errc::invalid_argument) << s.note();
        EXPECT_NE(answer.error().message.find(text), std::string::npos)
            << answer.error().message << s.note();
      };
      expect_refusal(s.attempt(structured_check{.x = bad.view}));
      expect_refusal(s.attempt(structured_compress{.x = bad.view, .compressed = compressed.view}));
      if (HasFailure()) return;
    }
  }
}

// Weights without elements have no bad group.
TEST(SparseStructured, TakesNoWeights) {
  scene s;
  s.run(structured_check{.x = s.matrix_of(dtype::f16, 0, 8, layout::row).view});
  s.run(structured_check{.x = s.matrix_of(dtype::f16, 8, 0, layout::row).view});
  auto& x = s.matrix_of(dtype::f16, 0, 8, layout::row_padded);
  s.run(structured_compress{.x = x.view,
                            .compressed = s.vector(dtype::u8, structured_bytes(0, 8, 2)).view});
}

TEST(SparseStructured, MultipliesEveryTypeWithEveryEpilogue) {
  for_each_pair([](structured_case c) {
    for (const epilogue e : structured_epilogues) {
      if (c.d_type == dtype::i32 && e != epilogue::none) continue;
      for (const bool padded : {false, true}) {
        for (const bool compressed : {false, true}) {
          c.epilogue = e;
          c.padded = padded;
          c.compressed = compressed;
          run(c);
          if (HasFailure()) return;
        }
      }
    }
  });
}

TEST(SparseStructured, AddsCWhichMayBeDItself) {
  for_each_pair([](structured_case c) {
    for (const auto what : {structured_c::another, structured_c::d_itself}) {
      for (const bool padded : {false, true}) {
        for (const bool row_major_d : {false, true}) {
          c.c = what;
          c.padded = padded;
          c.row_major_d = row_major_d;
          c.epilogue = row_major_d && c.d_type != dtype::i32 ? epilogue::relu_bias : epilogue::none;
          run(c);
          if (HasFailure()) return;
        }
      }
    }
  });
}

TEST(SparseStructured, TakesOperandsInAnyOrder) {
  for_each_pair([](structured_case c) {
    if (narrow(c)) return;  // k is contiguous there
    for (int orders = 0; orders < 8; ++orders) {
      for (const bool compressed : {false, true}) {
        c.row_major_a = (orders & 1) != 0;
        c.row_major_b = (orders & 2) != 0;
        c.row_major_d = (orders & 4) != 0;
        c.compressed = compressed;
        run(c);
        if (HasFailure()) return;
      }
    }
  });
}

TEST(SparseStructured, TakesEveryShape) {
  for_each_pair([](structured_case c) {
    const std::int64_t unit = narrow(c) ? 16 : 1;
    for (const std::int64_t m : {0, 1, 5, 16, 40}) {
      for (const std::int64_t n : {0, 1, 3, 16}) {
        for (const std::int64_t k : {4, 12, 32, 100}) {
          for (const bool compressed : {false, true}) {
            c.m = m;
            c.n = n * unit;
            c.k = narrow(c) ? k / 4 * 16 : k;
            c.compressed = compressed;
            run(c);
            if (HasFailure()) return;
          }
        }
      }
    }
  });
}

TEST(SparseStructured, MultipliesLargeWeights) {
  for_each_pair([](structured_case c) {
    c.m = 144;
    c.n = 256;
    c.k = 512;
    run(c);
  });
}

// A GPU's kernels are measured for these.
TEST(SparseStructured, IsTheSameWithAKernelThatWasMeasured) {
  for (const dtype type : {dtype::bf16, dtype::e4m3})
    run({.type = type, .m = 2048, .n = 2048, .k = 2048, .c = structured_c::d_itself});
}

// A product without `compressed` checks this itself.
TEST(SparseStructured, RefusesToMultiplyByWeightsThatAreNot24) {
  for (const std::int64_t n : {64, 5}) {  // a GPU's library takes the first
    structured_product one({.type = dtype::f16, .d_type = dtype::f16, .n = n, .compressed = false});
    std::vector<number> values = one.weights->values;
    const auto at = static_cast<std::size_t>(3 * 96 + 12);
    for (std::size_t q = 0; q < 4; ++q)
      values[at + q] = 1;
    one.s.fill(*one.weights, values);
    const auto answer = one.s.attempt(one.request);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, errc::invalid_argument);
    EXPECT_NE(answer.error().message.find("weights [3, 12 to 15]: 4 are not zero"),
              std::string::npos)
        << answer.error().message;
  }
}

TEST(SparseStructured, RefusesWhatWasNotCompressedFromTheseWeights) {
  for (const std::int64_t n : {64, 5}) {
    structured_product one({.type = dtype::bf16, .n = n});
    const auto expect_refusal = [&] {
      const auto answer = one.s.attempt(one.request);
      ASSERT_FALSE(answer);
      EXPECT_EQ(answer.error().code, errc::invalid_argument);
      EXPECT_NE(answer.error().message.find("compressed is not what structured_compress"),
                std::string::npos)
          << answer.error().message;
    };
    expect_refusal();  // nothing was compressed
    // Of others of the same extents in the other order.
    auto& other = one.s.matrix_of(dtype::bf16, n, 96, layout::column_padded);
    one.s.fill(other, number(0));
    one.s.run(structured_compress{.x = other.view, .compressed = one.compressed->view});
    one.s.fill(*one.compressed, one.s.elements_now(*one.compressed));
    expect_refusal();
    one.run();
  }
}

TEST(SparseStructured, RefusesArgumentsThatDoNotFit) {
  scene s;
  const auto matrix_of = [&](dtype type, std::int64_t n, std::int64_t k) {
    return s.matrix_of(type, n, k, layout::row).view;
  };
  const any_tensor x = matrix_of(dtype::f16, 8, 16);
  s.refuse(structured_check{.x = matrix_of(dtype::f16, 8, 18)}, errc::shape_mismatch,
           "k must be a multiple of 4, it is 18");
  s.refuse(structured_check{.x = matrix_of(dtype::f32, 8, 16)}, errc::type_mismatch);
  s.refuse(structured_prune{.x = x, .y = matrix_of(dtype::bf16, 8, 16)}, errc::type_mismatch);
  s.refuse(structured_prune{.x = x, .y = matrix_of(dtype::f16, 8, 12)}, errc::shape_mismatch);
  s.refuse(structured_compress{.x = x, .compressed = s.vector(dtype::u8, 100).view},
           errc::shape_mismatch, std::to_string(structured_bytes(8, 16, 2)));
  s.refuse(structured_compress{.x = x, .compressed = s.vector(dtype::i8, 100).view},
           errc::type_mismatch);
  structured_product one({.m = 8, .n = 16, .k = 32});
  structured_matmul r = one.request;
  r.epilogue = epilogue::relu_aux;
  one.s.refuse(r, errc::unsupported, "epilogue is relu_aux");
  r = one.request;
  r.compressed = one.s.vector(dtype::u8, structured_bytes(16, 64, 4)).view;
  one.s.refuse(r, errc::shape_mismatch, "the room for weights [16, 32] of bf16");
  r = one.request;
  r.epilogue = epilogue::bias;
  one.s.refuse(r, errc::invalid_argument, "bias");
  r.bias = one.s.vector(dtype::f32, 16).view;
  one.s.refuse(r, errc::type_mismatch, "bias");
  structured_product by_columns({.row_major_d = false});
  r = by_columns.request;
  r.epilogue = epilogue::bias;
  r.bias = by_columns.s.vector(dtype::bf16, 64).view;
  by_columns.s.refuse(r, errc::layout_unsupported, "row-major");
  structured_product by_rows({.type = dtype::i8, .d_type = dtype::i8, .row_major_b = true});
  by_rows.s.refuse(by_rows.request, errc::layout_unsupported, "k contiguous");
}

}  // namespace
}  // namespace troupe::conformance
