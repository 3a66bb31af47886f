// Lists of products: one call of cuBLAS, or one product after the other in a shared workspace.

#include "conformance/element.hpp"
#include "cuda/emulated/cublas.hpp"
#include "cuda/emulated/cublaslt.hpp"
#include "cuda/emulated/lane.hpp"
#include "libraries/blas/cuda/product/product_lists.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace troupe::cuda {
namespace {

using conformance::number;

class BlasLists : public testing::Test {
 protected:
  BlasLists() {
    emulated_cublas::seen() = {};
    emulated_cublaslt::seen().first_runs = true;
  }
  ~BlasLists() override {
    lane_.expect_untouched();
    emulated_cublas::seen() = {};
    emulated_cublaslt::seen() = {};
  }

  /// A column-major matrix of `value`, `skipped` elements after an aligned address.
  any_tensor filled(dtype type, std::int64_t rows, std::int64_t columns, number value,
                    std::int64_t skipped = 0) {
    const std::int64_t count = rows * columns;
    std::byte* const first =
        memory_.take(static_cast<std::size_t>((skipped + count) * size_of(type))) +
        skipped * size_of(type);
    for (std::int64_t i = 0; i < count; ++i)
      conformance::store(type, first + i * size_of(type), value);
    return any_tensor::unowned(first, type, {columns, rows}).transpose();
  }
  static number element(const any_tensor& t) { return conformance::load(t.type(), t.address()); }

  conformance::emulated_lane lane_;
  conformance::blocks memory_;
};

TEST_F(BlasLists, OfAlignedMatricesAreOneCall) {
  blas::gemm_batched r{};
  for (int i = 1; i <= 3; ++i) {
    r.a.push_back(filled(dtype::f32, 4, 8, i));
    r.b.push_back(filled(dtype::f32, 8, 4, 2));
    r.c.push_back(filled(dtype::f32, 4, 4, 0));
  }
  ASSERT_TRUE(multiply_list(r, lane_));
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(element(r.c[i]), number(16.0 * static_cast<double>(i + 1)));
  EXPECT_EQ(emulated_cublas::seen().lists, 1u);
}

// Two need copies of different sizes, and one needs none.
TEST_F(BlasLists, OfUnalignedMatricesShareAWorkspace) {
  blas::gemm_grouped r{};
  for (const std::int64_t n : {20, 4, 36}) {
    r.a.push_back(filled(dtype::i8, n, n, 2, n == 4 ? 0 : 1));
    r.b.push_back(filled(dtype::i8, n, n, 3));
    r.c.push_back(filled(dtype::i32, n, n, 0));
  }
  ASSERT_TRUE(multiply_groups(r, lane_));
  for (const any_tensor& c : r.c)
    EXPECT_EQ(element(c), number(6.0 * static_cast<double>(c.extent(0))));
  EXPECT_EQ(emulated_cublas::seen().products, 3u);
  EXPECT_EQ(emulated_cublas::seen().lists, 0u);
}

TEST_F(BlasLists, OfConjugatedFactorsShareAWorkspace) {
  blas::gemm_batched r{};
  r.op_a = blas::op::conjugate;
  for (int i = 1; i <= 2; ++i) {
    r.a.push_back(filled(dtype::c64, 4, 8, number(1, i)));
    r.b.push_back(filled(dtype::c64, 8, 4, 1));
    r.c.push_back(filled(dtype::c64, 4, 4, 0));
  }
  ASSERT_TRUE(multiply_list(r, lane_));
  EXPECT_EQ(element(r.c[0]), number(8, -8));
  EXPECT_EQ(element(r.c[1]), number(8, -16));
  EXPECT_EQ(emulated_cublas::seen().lists, 0u);
}

TEST_F(BlasLists, OfGroupsAreOneCall) {
  blas::gemm_grouped r{};
  for (const std::int64_t n : {4, 4, 8}) {
    r.a.push_back(filled(dtype::f32, n, n, 2));
    r.b.push_back(filled(dtype::f32, n, n, 3));
    r.c.push_back(filled(dtype::f32, n, n, 0));
  }
  ASSERT_TRUE(multiply_groups(r, lane_));
  for (const any_tensor& c : r.c)
    EXPECT_EQ(element(c), number(6.0 * static_cast<double>(c.extent(0))));
  EXPECT_EQ(emulated_cublas::seen().lists, 1u);
}

}  // namespace
}  // namespace troupe::cuda
