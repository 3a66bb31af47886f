#include "conformance/runner.hpp"

#include <troupe/blas/batched_factor.hpp>
#include <troupe/blas/level3.hpp>
#include <troupe/blas/level3_triangular.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>

namespace troupe::conformance {
namespace {

/// A tensor of f64 with deterministic content that makes a well-conditioned matrix.
any_tensor matrix_in(runner& lane, std::int64_t n) {
  const any_tensor t = lane.allocate(dtype::f64, n * n);
  std::vector<double> values(static_cast<std::size_t>(n * n));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool diagonal = static_cast<std::int64_t>(i) % (n + 1) == 0;
    values[i] =
        diagonal ? 4.0 : static_cast<double>(i * 7919 % 101) / (101.0 * static_cast<double>(n));
  }
  lane.upload(t, std::as_bytes(std::span(values)));
  return t;
}

/// A product, a solve and a factorisation, one after the other; what they leave.
std::vector<double> work(runner& lane, std::int64_t n) {
  const std::int64_t column_major[] = {n * n, 1, n};
  const auto as_matrix = [&](const any_tensor& t) { return t.reshape({n, n}).value(); };
  const any_tensor a = matrix_in(lane, n);
  const any_tensor b = matrix_in(lane, n);
  const any_tensor c = lane.allocate(dtype::f64, n * n);
  const any_tensor pivots = lane.allocate(dtype::i32, n).reshape({1, n}).value();
  const any_tensor info = lane.allocate(dtype::i32, 1);
  lane(blas::gemm{.a = as_matrix(a), .b = as_matrix(b), .c = as_matrix(c)}).value();
  lane(blas::trsm{.a = as_matrix(a), .b = as_matrix(c)}).value();
  lane(blas::getrf_batched{
           .a = c.as_strided({1, n, n}, column_major).value(), .pivots = pivots, .info = info})
      .value();
  std::vector<double> left(static_cast<std::size_t>(n * n));
  lane.download(c, std::as_writable_bytes(std::span(left)));
  lane.release();
  return left;
}

TEST(BlasLanes, SeveralLanesCallTheLibraryAtOnce) {
  constexpr std::int64_t sizes[] = {5, 64, 150};
  std::vector<double> expected[3];
  const auto alone = make_runner();
  for (std::size_t i = 0; i < 3; ++i)
    expected[i] = work(*alone, sizes[i]);

  std::vector<double> worst(4, 0.0);
  {
    std::vector<std::jthread> lanes;
    lanes.reserve(worst.size());
    for (std::size_t lane = 0; lane < worst.size(); ++lane) {
      lanes.emplace_back([&, lane] {
        const auto mine = make_runner();
        for (std::size_t round = 0; round < 30; ++round) {
          const std::size_t which = (round + lane) % 3;
          const std::vector<double> left = work(*mine, sizes[which]);
          for (std::size_t i = 0; i < left.size(); ++i)
            worst[lane] = std::max(worst[lane], std::abs(left[i] - expected[which][i]));
        }
      });
    }
  }
  // Not the same bits: how OpenBLAS splits a product depends on the threads it finds free.
  for (const double off : worst)
    EXPECT_LT(off, 1e-10);
}

}  // namespace
}  // namespace troupe::conformance
