#include <troupe/sparse/matrix.hpp>
#include <troupe/troupe.hpp>

#include <gtest/gtest.h>

namespace troupe {
namespace {

any_tensor integers(device& on, std::int64_t n) { return on.tensor<std::int32_t>({n}).value(); }
any_tensor numbers(device& on, const shape& extents) { return on.tensor<float>(extents).value(); }

TEST(SparseMatrix, HasTheExtentsThatFollowFromItsTensors) {
  system system;
  device device = system.device(0);
  const auto csr =
      sparse_matrix::csr(7, integers(device, 4), integers(device, 5), numbers(device, {5}));
  EXPECT_EQ(csr.rows, 3);
  EXPECT_EQ(csr.columns, 7);
  EXPECT_EQ(csr.stored(), 5);
  EXPECT_EQ(csr.index_type(), dtype::i32);
  const auto bsr =
      sparse_matrix::bsr(9, integers(device, 4), integers(device, 5), numbers(device, {5, 2, 3}));
  EXPECT_EQ(bsr.rows, 6);
  EXPECT_EQ(bsr.stored(), 30);
  const auto ell = sparse_matrix::blocked_ell(8, device.tensor<std::int32_t>({3, 2}).value(),
                                              numbers(device, {6, 4}));
  EXPECT_EQ(ell.rows, 6);
  // Requests refuse an invalid matrix, and it has extents of 0 here.
  EXPECT_EQ(sparse_matrix::csr(7, {}, {}, {}).rows, 0);
  EXPECT_EQ(sparse_matrix().stored(), 0);
}

TEST(SparseMatrix, IsTransposedInPlace) {
  system system;
  device device = system.device(0);
  const auto a =
      sparse_matrix::csr(7, integers(device, 4), integers(device, 5), numbers(device, {5}));
  const sparse_matrix turned = a.transpose().value();
  EXPECT_EQ(turned.format, sparse_format::csc);
  EXPECT_EQ(turned.rows, 7);
  EXPECT_EQ(turned.columns, 3);
  EXPECT_TRUE(turned.values.same_view(a.values));
  EXPECT_EQ(turned.transpose().value(), a);
  EXPECT_NE(turned, a);
  const auto coo =
      sparse_matrix::coo(3, 7, integers(device, 5), integers(device, 5), numbers(device, {5}));
  ASSERT_FALSE(coo.transpose());
  EXPECT_EQ(coo.transpose().error().code, errc::invalid_argument);
}

TEST(SparseMatrix, CanBeShorterThanItsRoom) {
  system system;
  device device = system.device(0);
  const auto room =
      sparse_matrix::coo(3, 7, integers(device, 5), integers(device, 5), numbers(device, {5}));
  const sparse_matrix a = room.first(2).value();
  EXPECT_EQ(a.stored(), 2);
  EXPECT_EQ(a.row_indices.extent(0), 2);
  EXPECT_EQ(a.indices.extent(0), 2);
  EXPECT_FALSE(room.first(6));
  EXPECT_FALSE(room.first(-1));
  const auto bsr =
      sparse_matrix::bsr(9, integers(device, 4), integers(device, 5), numbers(device, {5, 2, 3}));
  ASSERT_FALSE(bsr.first(2));
  EXPECT_EQ(bsr.first(2).error().message, "first: a csr, csc or coo matrix is needed");
}

}  // namespace
}  // namespace troupe
