// Products of blas: which of them run by plans of cuBLASLt's, which requests share a plan, and
// which products are computed from copies of their factors.

#include "backend/cuda/context/part_lane.hpp"
#include "conformance/element.hpp"
#include "cuda/emulated/cublas.hpp"
#include "cuda/emulated/cublaslt.hpp"
#include "cuda/emulated/lane.hpp"
#include "libraries/blas/cuda/product/product.hpp"

#include <cublasLt.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::cuda {

namespace {

using conformance::number;
using emulated_cublaslt::seen;

std::uint64_t calls_of_cublas() { return emulated_cublas::seen().products; }

/// A matrix of `rows` × `columns` among columns of `ld` elements, `skipped` elements after the
/// begin of its memory.
class matrix {
 public:
  matrix(dtype type, std::int64_t rows, std::int64_t columns, std::int64_t ld,
         std::int64_t skipped = 0) {
    const auto bytes = (skipped + ld * columns) * size_of(type);
    std::byte* const first = memory_.take(static_cast<std::size_t>(bytes));
    for (std::int64_t i = 0; i < skipped + ld * columns; ++i)
      conformance::store(type, first + i * size_of(type), static_cast<double>(i % 5 - 2));
    view = any_tensor::unowned(first + skipped * size_of(type), type, shape{rows, columns},
                               std::vector<std::int64_t>{1, ld});
  }
  [[nodiscard]] static number at(const any_tensor& t, std::int64_t i, std::int64_t j) {
    const std::int64_t place = i * t.stride(0) + j * t.stride(1);
    return conformance::load(t.type(), t.address() + place * size_of(t.type()));
  }
  any_tensor view;

 private:
  conformance::blocks memory_;
};

class BlasPlans : public testing::Test {
 protected:
  BlasPlans() { seen().first_runs = true; }
  ~BlasPlans() override { seen() = {}; }

  /// c = 2 · a · b + 3 · c, and that this is what it is.
  void run(const any_tensor& a, const any_tensor& b, const any_tensor& c,
           blas::op op_a = blas::op::none) {
    std::vector<number> wanted;
    for (std::int64_t i = 0; i < c.extent(0); ++i) {
      for (std::int64_t j = 0; j < c.extent(1); ++j) {
        number sum = 0;
        for (std::int64_t p = 0; p < a.extent(1); ++p) {
          const number left = matrix::at(a, i, p);
          sum += (op_a == blas::op::conjugate ? std::conj(left) : left) * matrix::at(b, p, j);
        }
        wanted.push_back(2.0 * sum + 3.0 * matrix::at(c, i, j));
      }
    }
    const scalar alpha = 2;
    const scalar beta = 3;
    const product p{a, b, c, alpha, beta, op_a, blas::op::none, {}};
    // Memory of exactly the bytes that it asks for, and no other.
    part_lane within(lane_, lane_.workspace(workspace_bytes(p)).value());
    const auto done = multiply(p, within);
    ASSERT_TRUE(done) << done.error().message;
    lane_.expect_untouched();
    std::size_t place = 0;
    for (std::int64_t i = 0; i < c.extent(0); ++i) {
      for (std::int64_t j = 0; j < c.extent(1); ++j)
        ASSERT_EQ(matrix::at(c, i, j), wanted[place++]) << i << ", " << j;
    }
  }
  void run(dtype in, dtype out, std::int64_t ld, std::int64_t skipped = 0) {
    const matrix a(in, 6, 8, ld, skipped);
    const matrix b(in, 8, 4, 8);
    const matrix c(out, 6, 4, 6);
    run(a.view, b.view, c.view);
  }

  conformance::emulated_lane lane_;
};

TEST_F(BlasPlans, AreMadeOnceForAllProductsThatAreAlike) {
  for (int i = 0; i < 3; ++i)
    run(dtype::f32, dtype::f32, 8);
  EXPECT_EQ(seen().proposals, 1u);
  EXPECT_EQ(seen().products, 3u);
  run(dtype::f32, dtype::f32, 12);
  run(dtype::f32, dtype::f32, 8);
  EXPECT_EQ(seen().proposals, 2u);
  EXPECT_EQ(seen().products, 5u);
  EXPECT_EQ(calls_of_cublas(), 0u);
}

TEST_F(BlasPlans, AreOfEveryTypeThatIsNoInteger) {
  run(dtype::f32, dtype::f32, 8);
  run(dtype::f64, dtype::f64, 8);
  run(dtype::c64, dtype::c64, 8);
  run(dtype::c128, dtype::c128, 8);
  run(dtype::f16, dtype::f16, 8);
  run(dtype::f16, dtype::f32, 8);
  run(dtype::bf16, dtype::bf16, 8);
  run(dtype::bf16, dtype::f32, 8);
  EXPECT_EQ(seen().proposals, 8u);
  EXPECT_EQ(seen().products, 8u);
}

TEST_F(BlasPlans, AreOfEveryOrder) {
  const matrix a(dtype::c64, 6, 6, 8);
  const matrix b(dtype::c64, 6, 6, 8);
  const matrix c(dtype::c64, 6, 6, 8);
  for (const bool turn_a : {false, true}) {
    for (const bool turn_b : {false, true}) {
      for (const bool turn_c : {false, true}) {
        const auto turned = [](const any_tensor& t, bool turn) { return turn ? t.transpose() : t; };
        run(turned(a.view, turn_a), turned(b.view, turn_b), turned(c.view, turn_c));
        if (turn_a != turn_c) {
          run(turned(a.view, turn_a), turned(b.view, turn_b), turned(c.view, turn_c),
              blas::op::conjugate);
        }
      }
    }
  }
  EXPECT_EQ(seen().products, 12u);
  // The transposed product of transposed factors is the same one, but for what is conjugated.
  EXPECT_EQ(seen().proposals, 8u);
}

// The emulation fails where a kernel for aligned columns is given others.
TEST_F(BlasPlans, AreForOneAlignment) {
  run(dtype::f16, dtype::f32, 16);
  run(dtype::f16, dtype::f32, 16, 4);
  run(dtype::f16, dtype::f32, 16, 1);
  EXPECT_EQ(seen().proposals, 3u);
  run(dtype::f16, dtype::f32, 16, 3);
  EXPECT_EQ(seen().proposals, 3u);
  EXPECT_EQ(calls_of_cublas(), 0u);
}

TEST_F(BlasPlans, ThatTheLibraryDoesNotOfferAreLeftToCublas) {
  emulated_cublas::seen() = {};
  seen().heuristic_answers = CUBLAS_STATUS_NOT_SUPPORTED;
  run(dtype::f32, dtype::f32, 8);
  run(dtype::f32, dtype::f32, 8);
  seen().heuristic_answers = CUBLAS_STATUS_INVALID_VALUE;
  run(dtype::f64, dtype::f64, 8);
  EXPECT_EQ(seen().proposals, 2u);
  seen().heuristic_answers = 0;
  seen().first_runs = false;
  run(dtype::c64, dtype::c64, 8);
  EXPECT_EQ(seen().proposals, 3u);
  EXPECT_EQ(seen().products, 0u);
  EXPECT_EQ(calls_of_cublas(), 4u);
  emulated_cublas::seen() = {};
}

TEST_F(BlasPlans, FailWhereTheLibraryFails) {
  const matrix a(dtype::f32, 6, 6, 8);
  const scalar one = 1;
  seen().heuristic_answers = CUBLAS_STATUS_INTERNAL_ERROR;
  const auto failed =
      multiply({a.view, a.view, a.view, one, one, blas::op::none, blas::op::none, {}}, lane_);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, errc::library_error);
  EXPECT_EQ(failed.error().call, "cublasLtMatmulAlgoGetHeuristic");
  EXPECT_EQ(failed.error().vendor_code, CUBLAS_STATUS_INTERNAL_ERROR);
}

TEST_F(BlasPlans, AreNotForFactorsThatAreConjugatedInPlace) {
  emulated_cublas::seen() = {};
  const matrix a(dtype::c64, 6, 8, 8);
  const matrix b(dtype::c64, 8, 4, 8);
  const matrix c(dtype::c64, 6, 4, 6);
  for (std::int64_t i = 0; i < 6; ++i) {
    for (std::int64_t j = 0; j < 8; ++j)
      conformance::store(dtype::c64, a.view.address() + (i + j * 8) * size_of(dtype::c64),
                         number(static_cast<double>(i), static_cast<double>(j)));
  }
  run(a.view, b.view, c.view, blas::op::conjugate);
  // A row-major c swaps the factors: the copy is that of the second one.
  const matrix turned_a(dtype::c64, 8, 6, 8);
  const matrix turned_c(dtype::c64, 4, 6, 6);
  run(turned_a.view.transpose(), b.view, turned_c.view.transpose(), blas::op::conjugate);
  EXPECT_EQ(calls_of_cublas(), 2u);
  EXPECT_EQ(seen().proposals, 0u);
}

TEST_F(BlasPlans, AreNotForIntegersThatLieUnaligned) {
  emulated_cublas::seen() = {};
  const matrix a(dtype::i8, 6, 8, 8, 1);
  const matrix b(dtype::i8, 8, 4, 9);
  const matrix c(dtype::i32, 6, 4, 6);
  run(a.view, b.view, c.view);
  EXPECT_EQ(calls_of_cublas(), 1u);
  EXPECT_EQ(seen().proposals, 0u);
}

}  // namespace
}  // namespace troupe::cuda
