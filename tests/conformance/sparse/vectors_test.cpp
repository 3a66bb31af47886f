#include "sparse_matrices.hpp"

#include <troupe/sparse/vectors.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace troupe::conformance {
namespace {

/// A sparse and a dense vector.
struct sparse_vector {
  test_tensor* indices;
  test_tensor* values;
  test_tensor* y;
  std::vector<std::int64_t> places;

  [[nodiscard]] std::size_t count() const noexcept { return places.size(); }
  [[nodiscard]] number x(std::size_t k) const { return values->values[k]; }
  [[nodiscard]] number dense(std::size_t k) const {
    return y->values[static_cast<std::size_t>(places[k])];
  }
};

/// Indices differ, and come in any order.
sparse_vector vectors(scene& s, dtype type, dtype index, std::int64_t nnz, std::int64_t n,
                      std::int64_t stride) {
  std::vector<std::int64_t> places(static_cast<std::size_t>(n));
  std::iota(places.begin(), places.end(), std::int64_t{0});
  std::ranges::shuffle(places, s.generator());
  places.resize(static_cast<std::size_t>(nnz));
  auto& indices = s.vector(index, nnz, stride);
  s.fill(indices, std::vector<number>(places.begin(), places.end()));
  return {&indices, &s.vector(type, nnz, stride), &s.vector(type, n, stride), places};
}

double size_of_it(number v) { return std::abs(v.real()) + std::abs(v.imag()); }

template <class F>
void for_each_case(F f) {
  struct size {
    std::int64_t nnz;
    std::int64_t n;
  };
  for (const dtype type : sparse_types) {
    for (const dtype index : index_types) {
      for (const size& of : {size{0, 0}, {0, 5}, {1, 1}, {7, 30}, {1000, 1000}, {20'011, 50'000}}) {
        for (const std::int64_t stride : {1, 2}) {
          scene s;
          s.name(std::string(to_string(type)) + " " + std::to_string(of.nnz) + " of " +
                 std::to_string(of.n) + " stride " + std::to_string(stride));
          f(s, type, vectors(s, type, index, of.nnz, of.n, stride));
        }
      }
    }
  }
}

TEST(SparseSpvv, AddsUpTheProducts) {
  for_each_case([](scene& s, dtype type, const sparse_vector& v) {
    for (const blas::op op : ops) {
      number sum;
      double bound = 0;
      for (std::size_t k = 0; k < v.count(); ++k) {
        const number x = op == blas::op::conjugate ? std::conj(v.x(k)) : v.x(k);
        sum += x * v.dense(k);
        bound += size_of_it(x) * size_of_it(v.dense(k));
      }
      const sparse::spvv r{
          .indices = v.indices->view, .values = v.values->view, .y = v.y->view, .op_x = op};
      const auto terms = static_cast<std::int64_t>(v.count());
      s.expect_near(type, as_number(s.run(r)), sum, bound, terms, computed_in(type), "reply");
      auto& result = s.vector(type, 1);
      sparse::spvv stored = r;
      stored.result = result.view;
      EXPECT_EQ(s.run(stored), scalar()) << s.note();
      s.expect_near(type, s.now(result)(0, 0), sum, bound, terms, computed_in(type), "result");
    }
  });
}

TEST(SparseAxpby, AddsMultiples) {
  for_each_case([](scene& s, dtype type, const sparse_vector& v) {
    const scalar alpha = factor(type, 0.5, -0.25);
    for (const scalar& beta : {scalar(0), scalar(1), factor(type, -2, 0.5)}) {
      std::vector<number> old = v.y->values;
      for (number& one : old)
        one = beta.is_zero() ? std::numeric_limits<double>::quiet_NaN() : s.random(type);
      s.fill(*v.y, old);
      const matrix before = v.y->before();
      matrix expected = beta.is_zero() ? matrix(before.rows, 1) : as_number(beta) * before;
      matrix bound = magnitude(expected);
      for (std::size_t k = 0; k < v.count(); ++k) {
        expected(v.places[k], 0) += as_number(alpha) * v.x(k);
        bound(v.places[k], 0) += size_of_it(as_number(alpha)) * size_of_it(v.x(k));
      }
      s.run(sparse::axpby{.indices = v.indices->view,
                          .values = v.values->view,
                          .y = v.y->view,
                          .alpha = alpha,
                          .beta = beta});
      // Elements of half types are rounded once for each of the two terms.
      s.expect(*v.y, expected, bound, 2, type);
    }
  });
}

TEST(SparseAxpby, LooksAtNothingWhereAlphaIsZero) {
  scene s;
  const sparse_vector v = vectors(s, dtype::f32, dtype::i32, 5, 9, 1);
  s.fill(*v.values, std::numeric_limits<double>::quiet_NaN());
  const matrix before = v.y->before();
  s.run(sparse::axpby{
      .indices = v.indices->view, .values = v.values->view, .y = v.y->view, .alpha = 0, .beta = 2});
  s.expect_exactly(*v.y, number(2) * before);
}

TEST(SparseGather, TakesElements) {
  for_each_case([](scene& s, dtype, const sparse_vector& v) {
    s.run(sparse::gather{.indices = v.indices->view, .y = v.y->view, .values = v.values->view});
    matrix expected(static_cast<std::int64_t>(v.count()), 1);
    for (std::size_t k = 0; k < v.count(); ++k)
      expected.values[k] = v.dense(k);
    s.expect_exactly(*v.values, expected);
  });
}

TEST(SparseScatter, PutsElementsAndKeepsTheOthers) {
  for_each_case([](scene& s, dtype, const sparse_vector& v) {
    matrix expected = v.y->before();
    for (std::size_t k = 0; k < v.count(); ++k)
      expected(v.places[k], 0) = v.x(k);
    s.run(sparse::scatter{.indices = v.indices->view, .values = v.values->view, .y = v.y->view});
    s.expect_exactly(*v.y, expected);
  });
}

TEST(SparseRot, RotatesBothVectors) {
  for_each_case([](scene& s, dtype type, const sparse_vector& v) {
    const scalar c = factor(type, 0.8, 0.1);
    const scalar sine = factor(type, -0.6, 0.2);
    matrix x(static_cast<std::int64_t>(v.count()), 1);
    matrix bound_x = x;
    matrix y = v.y->before();
    matrix bound_y = magnitude(y);
    for (std::size_t k = 0; k < v.count(); ++k) {
      const number cosine = as_number(c);
      x.values[k] = cosine * v.x(k) + as_number(sine) * v.dense(k);
      y(v.places[k], 0) = cosine * v.dense(k) - as_number(sine) * v.x(k);
      bound_x.values[k] = bound_y(v.places[k], 0) = size_of_it(v.x(k)) + size_of_it(v.dense(k));
    }
    s.run(sparse::rot{
        .indices = v.indices->view, .values = v.values->view, .y = v.y->view, .c = c, .s = sine});
    s.expect(*v.values, x, bound_x, 2, computed_in(type));
    s.expect(*v.y, y, bound_y, 2, computed_in(type));
  });
}

TEST(SparseVectors, FailWhereAnIndexIsOutside) {
  for (const dtype index : index_types) {
    for (const std::int64_t wrong : {std::int64_t{-1}, std::int64_t{9}, std::int64_t{1} << 30}) {
      scene s;
      const sparse_vector v = vectors(s, dtype::f32, index, 5, 9, 2);
      std::vector<number> places = v.indices->values;
      places[3] = places[4] = static_cast<double>(wrong);
      s.fill(*v.indices, places);
      const auto check = [&](const auto& answer) {
        ASSERT_FALSE(answer) << s.note();
        EXPECT_EQ(answer.error().code, errc::invalid_argument);
        EXPECT_EQ(answer.error().message,
                  "indices[3] is " + std::to_string(wrong) + ", outside [0, 9)");
      };
      const any_tensor i = v.indices->view;
      const any_tensor x = v.values->view;
      const any_tensor y = v.y->view;
      check(s.attempt(sparse::spvv{.indices = i, .values = x, .y = y}));
      check(s.attempt(sparse::axpby{.indices = i, .values = x, .y = y}));
      check(s.attempt(sparse::gather{.indices = i, .y = y, .values = x}));
      check(s.attempt(sparse::scatter{.indices = i, .values = x, .y = y}));
      check(s.attempt(sparse::rot{.indices = i, .values = x, .y = y}));
    }
  }
}

TEST(SparseVectors, RefuseWhatDoesNotGoTogether) {
  scene s;
  const sparse_vector v = vectors(s, dtype::f32, dtype::i32, 5, 9, 1);
  sparse::gather r{.indices = v.indices->view, .y = v.y->view, .values = v.values->view};
  r.values = s.vector(dtype::f32, 4).view;
  s.refuse(r, errc::shape_mismatch);
  r.values = s.vector(dtype::f64, 5).view;
  s.refuse(r, errc::type_mismatch);
  r.values = v.values->view;
  r.indices = s.vector(dtype::i16, 5).view;
  s.refuse(r, errc::type_mismatch);
  s.refuse(sparse::axpby{.indices = v.indices->view,
                         .values = v.values->view,
                         .y = v.y->view,
                         .alpha = number(0, 1)},
           errc::invalid_argument, "alpha");
}

}  // namespace
}  // namespace troupe::conformance
