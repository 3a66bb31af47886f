#include "conformance/scene.hpp"

#include <troupe/blas/level1.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace troupe::conformance {
namespace {

constexpr std::int64_t level1_lengths[] = {0, 1, 2, 5, 31, 64, 513, 20011};
struct stride_pair {
  std::int64_t x, y;
};
constexpr stride_pair stride_pairs[] = {{1, 1}, {3, 1}, {1, 2}, {7, 5}};

template <class Check>
void for_each_vectors(std::span<const dtype> types, Check check) {
  for (const dtype type : types) {
    for (const std::int64_t n : level1_lengths) {
      for (const stride_pair step : stride_pairs) {
        if (n > 1000 && step.x * step.y > 3) continue;
        scene s;
        s.name(std::string(to_string(type)) + " n=" + std::to_string(n) + " strides " +
               std::to_string(step.x) + ", " + std::to_string(step.y));
        check(s, type, n, step);
      }
    }
  }
}

TEST(BlasLevel1, AxpyAddsAMultiple) {
  for_each_vectors(classic_and_half_types, [](scene& s, dtype type, std::int64_t n,
                                              stride_pair step) {
    auto& x = s.vector(type, n, step.x);
    auto& y = s.vector(type, n, step.y);
    const scalar alpha = factor(type, 1.5, -0.75);
    s.run(blas::axpy{.x = x.view, .y = y.view, .alpha = alpha});
    const matrix term = as_number(alpha) * x.before();
    s.expect(y, term + y.before(), magnitude(term) + magnitude(y.before()), 1, computed_in(type));
  });
}

TEST(BlasLevel1, AxpyByZeroReadsNothing) {
  for (const dtype type : classic_and_half_types) {
    for (const std::int64_t n : {1, 40, 20011}) {
      scene s;
      auto& x = s.vector(type, n, 2);
      auto& y = s.vector(type, n);
      s.fill(x, std::numeric_limits<double>::quiet_NaN());
      s.run(blas::axpy{.x = x.view, .y = y.view, .alpha = 0});
      s.expect_exactly(y, y.before());
    }
  }
}

TEST(BlasLevel1, AxpbyAddsMultiplesOfBoth) {
  for_each_vectors(
      classic_and_half_types, [](scene& s, dtype type, std::int64_t n, stride_pair step) {
        auto& x = s.vector(type, n, step.x);
        auto& y = s.vector(type, n, step.y);
        const scalar alpha = factor(type, 1.5, -0.75);
        const scalar beta = factor(type, -0.5, 1.25);
        s.run(blas::axpby{.x = x.view, .y = y.view, .alpha = alpha, .beta = beta});
        const matrix added = as_number(alpha) * x.before();
        const matrix kept = as_number(beta) * y.before();
        s.expect(y, added + kept, magnitude(added) + magnitude(kept), 2, computed_in(type));
      });
}

TEST(BlasLevel1, ScalMultiplies) {
  for_each_vectors(classic_and_half_types,
                   [](scene& s, dtype type, std::int64_t n, stride_pair step) {
                     auto& x = s.vector(type, n, step.x);
                     const scalar alpha = factor(type, -1.25, 0.5);
                     s.run(blas::scal{.x = x.view, .alpha = alpha});
                     const matrix expected = as_number(alpha) * x.before();
                     s.expect(x, expected, magnitude(expected), 1, computed_in(type));
                   });
}

TEST(BlasLevel1, ScalByZeroKeepsNaNs) {
  for (const dtype type : classic_and_half_types) {
    scene s;
    auto& x = s.vector(type, 40);
    std::vector<number> values = x.values;
    values[17] = std::numeric_limits<double>::quiet_NaN();
    s.fill(x, values);
    s.run(blas::scal{.x = x.view, .alpha = 0});
    const matrix now = s.now(x);
    for (std::int64_t i = 0; i < 40; ++i) {
      if (i == 17) {
        EXPECT_TRUE(std::isnan(now(i, 0).real())) << to_string(type);
      } else {
        EXPECT_EQ(now(i, 0), number(0)) << to_string(type);
      }
    }
  }
}

TEST(BlasLevel1, CopyAndSwapMoveElements) {
  for_each_vectors(classic_types, [](scene& s, dtype type, std::int64_t n, stride_pair step) {
    auto& x = s.vector(type, n, step.x);
    auto& y = s.vector(type, n, step.y);
    s.run(blas::copy{.x = x.view, .y = y.view});
    s.expect_exactly(y, x.before());
  });
  for_each_vectors(classic_types, [](scene& s, dtype type, std::int64_t n, stride_pair step) {
    auto& x = s.vector(type, n, step.x);
    auto& y = s.vector(type, n, step.y);
    s.run(blas::swap{.x = x.view, .y = y.view});
    s.expect_exactly(x, y.before());
    s.expect_exactly(y, x.before());
  });
}

TEST(BlasLevel1, ScalByAnOrdinaryNumberKeepsNaNsAndInfinities) {
  for (const dtype type : classic_and_half_types) {
    for (const std::int64_t n : {1, 40, 513}) {
      scene s;
      s.name(std::string(to_string(type)) + " n=" + std::to_string(n));
      auto& x = s.vector(type, n);
      std::vector<number> values = x.values;
      values.front() = std::numeric_limits<double>::quiet_NaN();
      if (n > 1) values.back() = std::numeric_limits<double>::infinity();
      s.fill(x, values);
      s.run(blas::scal{.x = x.view, .alpha = -2});
      const matrix now = s.now(x);
      EXPECT_TRUE(std::isnan(now(0, 0).real())) << s.note();
      if (n > 1) {
        EXPECT_FALSE(std::isfinite(now(n - 1, 0).real())) << s.note();
      }
      for (std::int64_t i = 1; i < n - 1; ++i)
        ASSERT_TRUE(std::isfinite(now(i, 0).real())) << s.note();
    }
  }
}

TEST(BlasLevel1, CopyReverses) {
  for_each_vectors(classic_types, [](scene& s, dtype type, std::int64_t n, stride_pair step) {
    auto& x = s.vector(type, n, step.x);
    auto& y = s.vector(type, n, step.y);
    s.run(blas::copy{.x = x.view, .y = y.view, .reversed = true});
    matrix expected = x.before();
    std::ranges::reverse(expected.values);
    s.expect_exactly(y, expected);
  });
}

TEST(BlasLevel1, WorksOnColumnsOfOneMatrix) {
  scene s;
  auto& whole = s.matrix_of(dtype::f32, 9, 4, layout::row_padded);
  const auto column = [&](std::int64_t j) -> test_tensor& {
    const any_tensor one = whole.view.slice(1, j, j + 1).value();
    const std::int64_t stride[] = {one.stride(0)};
    return s.again(whole, one.as_strided({9}, stride).value());
  };
  auto& x = column(1);
  auto& y = column(2);
  s.run(blas::axpy{.x = x.view, .y = y.view});
  s.expect(y, x.before() + y.before(), magnitude(x.before()) + magnitude(y.before()), 1,
           dtype::f32);
}

TEST(BlasLevel1, RefusesWhatItCannotDo) {
  scene s;
  const auto vector = [&](dtype type, std::int64_t n, std::int64_t stride = 1) {
    return s.vector(type, n, stride).view;
  };
  const auto x = vector(dtype::f32, 5);
  s.refuse(blas::axpy{.x = x}, errc::invalid_argument, "y is not given");
  s.refuse(blas::axpy{.x = x, .y = vector(dtype::f32, 4)}, errc::shape_mismatch,
           "y must have 5 elements (n) because x is [5]");
  s.refuse(blas::axpy{.x = x, .y = vector(dtype::f64, 5)}, errc::type_mismatch,
           "y must be f32 because x is f32; it is f64");
  s.refuse(blas::axpy{.x = x, .y = vector(dtype::f32, 5), .alpha = number(0, 1)},
           errc::invalid_argument, "alpha must be real because x is f32; it is 0+1i");
  s.refuse(blas::axpy{.x = vector(dtype::f32, 5, 0), .y = x}, errc::layout_unsupported,
           "x must have a stride of at least 1");
  s.refuse(blas::scal{.x = x, .alpha = number(1, 1)}, errc::invalid_argument,
           "alpha must be real because x is f32");
  s.refuse(blas::swap{.x = x, .y = vector(dtype::f64, 5)}, errc::type_mismatch);
  std::byte place{};
  const std::int64_t back[] = {-1};
  s.refuse(blas::scal{.x = any_tensor::unowned(&place, dtype::f32, {3}, back)},
           errc::layout_unsupported, "negative stride");
  s.refuse(blas::scal{.x = any_tensor::unowned(&place, dtype::f32, {-3})}, errc::invalid_argument,
           "negative extent");
}

}  // namespace
}  // namespace troupe::conformance
