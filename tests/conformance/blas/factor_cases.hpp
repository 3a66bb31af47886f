#pragma once

#include "conformance/scene.hpp"

#include <cmath>
#include <limits>
#include <vector>

/// The rules of reference BLAS for factors that are no ordinary numbers: a NaN or an infinity
/// spoils every product with it, and with an alpha or a beta of zero the other factor is not read.
namespace troupe::conformance {

/// A request of ordinary numbers, and its operands.
template <class Request>
struct weighed {
  Request request;
  test_tensor& written;
  std::vector<test_tensor*> read;
};

/// The part of an output that is written, and the factors that are real.
struct written_part {
  bool triangle = false;   ///< the upper one only
  bool packed = false;     ///< which is stored alone
  bool hermitian = false;  ///< with a real diagonal; beta is real
  bool real_alpha = false;
};
inline constexpr written_part everything{};
inline constexpr written_part one_triangle{.triangle = true};

/// `value` as a factor of `type`, in both its parts.
inline scalar in_both_parts(dtype type, bool real, double value) {
  return is_complex(type) && !real ? scalar(number(value, value)) : scalar(value);
}

template <class Request>
void set_factors(Request& r, const scalar& alpha, const scalar& beta) {
  if constexpr (requires { r.alpha.size(); }) {
    r.alpha = {alpha};
    r.beta = {beta};
  } else {
    r.alpha = alpha;
    if constexpr (requires { r.beta; }) r.beta = beta;
  }
}

/// Calls `look` with each written element's value, and whether it is on a real diagonal.
template <class Look>
void for_each_written(scene& s, const test_tensor& t, written_part part, Look look) {
  const std::int64_t batch = t.view.rank() == 3 ? t.view.extent(0) : 1;
  for (std::int64_t i = 0; i < batch; ++i) {
    matrix now = s.now(t, i);
    if (part.packed) {
      std::int64_t n = 0;
      while (n * (n + 1) / 2 < now.rows)
        ++n;
      now = from_packed(now, n, blas::uplo::upper);
    }
    for (std::int64_t row = 0; row < now.rows; ++row) {
      for (std::int64_t column = part.triangle ? row : 0; column < now.columns; ++column)
        look(now(row, column), part.hermitian && row == column);
    }
  }
}

inline void expect_spoiled(scene& s, const test_tensor& t, written_part part, double value) {
  const auto spoiled = [&](double v) {
    return std::isnan(value) ? std::isnan(v) : !std::isfinite(v);
  };
  const bool complex = is_complex(t.view.type());
  for_each_written(s, t, part, [&](number v, bool is_real) {
    const bool right =
        spoiled(v.real()) && (!complex || spoiled(v.imag()) || (is_real && v.imag() == 0));
    if (!right) ADD_FAILURE() << "a factor of " << value << " left " << v << s.note();
  });
}

/// `make(scene, type, n, layout)` answers a `weighed`, with operands of order n.
template <class Make>
void check_factors(std::span<const dtype> types, written_part part, Make make) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  using request = decltype(make(std::declval<scene&>(), dtype{}, 1, layout{}).request);
  constexpr bool has_beta = requires(request r) { r.beta; };
  for (const dtype type : types) {
    for (const layout l : {layout::row, layout::column_padded}) {
      for (const std::int64_t n : {1, 7, 133}) {
        const auto run = [&](const scalar& alpha, const scalar& beta, auto prepare, auto look) {
          scene s;
          auto w = make(s, type, n, l);
          s.name(std::string(w.request.name) + " " + std::string(to_string(type)) + " " +
                 to_string(l) + " n=" + std::to_string(n) +
                 " alpha=" + std::to_string(alpha.template as<double>()) +
                 " beta=" + std::to_string(beta.template as<double>()));
          set_factors(w.request, alpha, beta);
          prepare(s, w);
          s.run(w.request);
          look(s, w.written);
        };
        const auto as_it_is = [](scene&, auto&) {};
        const auto alpha_of = [&](double v) { return in_both_parts(type, part.real_alpha, v); };
        const auto beta_of = [&](double v) { return in_both_parts(type, part.hermitian, v); };
        for (const double value : {nan, infinity}) {
          const auto is_spoiled = [&](scene& s, const test_tensor& t) {
            expect_spoiled(s, t, part, value);
          };
          run(alpha_of(value), 1, as_it_is, is_spoiled);
          if constexpr (has_beta) {
            run(alpha_of(value), 0, as_it_is, is_spoiled);
            run(1, beta_of(value), as_it_is, is_spoiled);
            run(0, beta_of(value), as_it_is, is_spoiled);
          }
        }
        if constexpr (has_beta) {
          const auto forget_old = [&](scene& s, auto& w) { s.fill(w.written, number(nan, nan)); };
          run(1, 0, forget_old, [&](scene& s, const test_tensor& t) {
            for_each_written(s, t, part, [&](number v, bool) {
              if (!std::isfinite(v.real()) || !std::isfinite(v.imag())) {
                ADD_FAILURE() << "with a beta of 0, " << v << s.note();
              }
            });
          });
          const auto forget_all = [&](scene& s, auto& w) {
            forget_old(s, w);
            for (test_tensor* const t : w.read)
              s.fill(*t, number(nan, nan));
          };
          run(0, 0, forget_all, [&](scene& s, const test_tensor& t) {
            for_each_written(s, t, part, [&](number v, bool) {
              if (v != number(0)) ADD_FAILURE() << "with factors of 0, " << v << s.note();
            });
          });
        }
      }
    }
  }
}

}  // namespace troupe::conformance
