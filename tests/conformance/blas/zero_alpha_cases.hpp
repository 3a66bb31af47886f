#pragma once

#include "conformance/scene.hpp"

#include <limits>

/// Operands with an alpha of zero are not read: a NaN there leaves no trace, in any routine.
namespace troupe::conformance {

/// Calls `check` with each type, layout, size and alpha that is zero in that type.
template <class Check>
void for_each_zero_alpha(std::span<const dtype> types, std::span<const layout> layouts,
                         Check check) {
  for (const dtype type : types) {
    const bool narrow = real_of(type) == dtype::f32;
    for (const layout l : layouts) {
      for (const std::int64_t n : {1, 7, 133}) {
        for (const double alpha : {0.0, 1e-60}) {
          if (alpha == 0 || narrow) check(type, l, std::int64_t{n}, alpha);
        }
      }
    }
  }
}

/// `made` builds a product of order n, whose matrix has the extents of `stored(n)`, with beta.
template <class Stored, class Made>
void expect_beta_y(std::span<const dtype> types, std::span<const layout> layouts, Stored stored,
                   Made made) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for_each_zero_alpha(types, layouts, [&](dtype type, layout l, std::int64_t n, double alpha) {
    for (const double beta : {0.0, 1.0, -0.75}) {
      scene s;
      s.name(std::string(to_string(type)) + " " + to_string(l) + " n=" + std::to_string(n) +
             " alpha=" + std::to_string(alpha) + " beta=" + std::to_string(beta));
      auto& a = stored(s, type, n, l);
      auto& x = s.vector(type, n, 2);
      auto& y = s.vector(type, n);
      s.fill(a, nan);
      s.fill(x, nan);
      if (beta == 0) s.fill(y, nan);
      auto request = made(a.view, x.view, y.view);
      request.alpha = alpha;
      request.beta = beta;
      s.run(request);
      const matrix expected = beta == 0 ? matrix(n, 1) : number(beta) * y.before();
      s.expect(y, expected, magnitude(expected), 1, real_of(type));
    }
  });
}

/// The update of a matrix by x, and y where it has one.
template <class Request>
void expect_no_change(std::span<const dtype> types) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for_each_zero_alpha(types, all_layouts, [&](dtype type, layout l, std::int64_t n, double alpha) {
    scene s;
    s.name(std::string(Request::name) + " " + std::string(to_string(type)) + " " + to_string(l));
    auto& x = s.vector(type, n, 2);
    auto& a = s.matrix_of(type, n, n, l);
    s.fill(x, nan);
    Request request{.x = x.view, .a = a.view, .alpha = alpha};
    if constexpr (requires { request.y; }) {
      auto& y = s.vector(type, n);
      s.fill(y, nan);
      request.y = y.view;
    }
    s.run(request);
    s.expect_exactly(a, a.before());
  });
}

/// A square matrix as it is, for `expect_beta_y`.
inline test_tensor& square(scene& s, dtype type, std::int64_t n, layout l) {
  return s.matrix_of(type, n, n, l);
}

}  // namespace troupe::conformance
