#include "matrices.hpp"

#include <troupe/solver/qr.hpp>

#include <algorithm>
#include <cmath>

namespace troupe::conformance {
namespace {

using matrix_size = std::pair<std::int64_t, std::int64_t>;
constexpr matrix_size qr_sizes[] = {{0, 0}, {0, 3}, {3, 0}, {1, 1}, {7, 4}, {4, 7}, {33, 33}};

/// R, and Q as reflectors.
struct householder {
  std::vector<number> qr;
  std::vector<number> tau;

  [[nodiscard]] wide_matrix upper(std::int64_t i, std::int64_t m, std::int64_t n) const {
    matrix r(m, n);
    for (std::int64_t row = 0; row < m; ++row) {
      for (std::int64_t column = row; column < n; ++column)
        r(row, column) = qr[static_cast<std::size_t>(i * m * n + row * n + column)];
    }
    return r;
  }
  /// Applies H_j = 1 − tau_j v_j v_jᴴ, from the last to the first: Q · x.
  [[nodiscard]] wide_matrix applied_to(wide_matrix x, std::int64_t i, std::int64_t m,
                                       std::int64_t n) const {
    const std::int64_t k = std::min(m, n);
    for (std::int64_t j = k - 1; j >= 0; --j) {
      wide_matrix v(m, 1);
      v(j, 0) = 1;
      for (std::int64_t row = j + 1; row < m; ++row) {
        const number one = qr[static_cast<std::size_t>(i * m * n + row * n + j)];
        v(row, 0) = {one.real(), one.imag()};
      }
      const number t = tau[static_cast<std::size_t>(i * k + j)];
      wide_matrix along = adjoint(v) * x;
      for (auto& one : along.values)
        one *= wide_matrix::number(t.real(), t.imag());
      x = x - v * along;
    }
    return x;
  }
};

/// The results of geqrf for random matrices.
struct reflectors : householder {
  scene s;
  test_tensor* a;

  reflectors(dtype type, const std::vector<std::int64_t>& batch, std::int64_t m, std::int64_t n,
             arrangement how, spectrum what = spectrum::random, bool in_place = false) {
    s.name(case_name(type, m, n, how, what));
    a = &matrices(s, type, batch, m, n, how);
    shape_values(s, *a, what);
    auto& factors = in_place ? *a : matrices(s, type, batch, m, n, how);
    auto& scales = vectors(s, type, batch, std::min(m, n));
    s.run(solver::geqrf{.a = a->view, .qr = factors.view, .tau = scales.view});
    qr = s.elements_now(factors);
    tau = s.elements_now(scales);
  }
};

TEST(SolverQr, GeqrfFactors) {
  const auto expect = [](dtype type, const std::vector<std::int64_t>& batch, matrix_size mn,
                         arrangement how, spectrum what, bool in_place) {
    const auto [m, n] = mn;
    reflectors f(type, batch, m, n, how, what, in_place);
    const std::int64_t count = batch.empty() ? 1 : batch.front();
    for (std::int64_t i = 0; i < count; ++i) {
      const wide_matrix before = f.a->before(i);
      expect_small(f.s,
                   ratio(f.applied_to(f.upper(i, m, n), i, m, n) - before, std::max(m, n),
                         norm_of(before), type),
                   "Q·R − a");
      expect_small(f.s, orthogonality(f.applied_to(identity(m), i, m, n), type), "Qᴴ·Q − 1");
    }
  };
  for (const dtype type : classic_types) {
    for (const arrangement how : arrangements) {
      for (const matrix_size& mn : qr_sizes) {
        expect(type, {}, mn, how, spectrum::random, false);
        expect(type, {3}, mn, how, spectrum::random, true);
      }
    }
    for (const spectrum what : spectra)
      expect(type, {}, {33, 20}, arrangement::row, what, false);
    expect(type, {}, {150, 100}, arrangement::column, spectrum::random, false);
  }
}

/// Expects that each number on the diagonal of R is at least as long as the rest of each column
/// behind it, from its row on. Lengths are updated, to half of the digits.
void expect_descending(scene& s, const wide_matrix& r, dtype type, long double norm) {
  const long double slack = 10 * std::sqrt(static_cast<long double>(epsilon(type)));
  for (std::int64_t k = 0; k < std::min(r.rows, r.columns); ++k) {
    for (std::int64_t j = k + 1; j < r.columns; ++j) {
      long double rest = 0;
      for (std::int64_t i = k; i < r.rows; ++i)
        rest += std::norm(r(i, j));
      const long double most = std::abs(r(k, k)) * (1 + slack) +
                               threshold * static_cast<long double>(epsilon(type)) * norm;
      EXPECT_LE(static_cast<double>(std::sqrt(rest)), static_cast<double>(most))
          << "R[" << k << "], column " << j << s.note();
    }
  }
}

struct pivoted_case {
  dtype type;
  std::vector<std::int64_t> batch{};
  matrix_size size;
  arrangement how = arrangement::column;
  spectrum what = spectrum::random;
  bool in_place = false;
  double scale = 1;
};

void expect_pivoted(const pivoted_case& c) {
  const auto [m, n] = c.size;
  scene s;
  s.name(case_name(c.type, m, n, c.how, c.what) + (c.in_place ? " in place" : ""));
  auto& a = matrices(s, c.type, c.batch, m, n, c.how);
  shape_values(s, a, c.what);
  if (c.scale != 1) scale_values(s, a, c.scale);
  auto& qr = c.in_place ? a : matrices(s, c.type, c.batch, m, n, c.how);
  auto& tau = vectors(s, c.type, c.batch, std::min(m, n));
  auto& columns = vectors(s, dtype::i64, c.batch, n);
  s.run(solver::geqp3{.a = a.view, .qr = qr.view, .tau = tau.view, .columns = columns.view});
  const householder f{.qr = s.elements_now(qr), .tau = s.elements_now(tau)};
  for (std::int64_t i = 0; i < (c.batch.empty() ? 1 : c.batch.front()); ++i) {
    const wide_matrix before = a.before(i);
    const matrix order = vector_now(s, columns, i);
    wide_matrix moved(m, n);
    std::vector<bool> taken(static_cast<std::size_t>(n));
    for (std::int64_t j = 0; j < n; ++j) {
      const auto from = static_cast<std::int64_t>(order(j, 0).real());
      ASSERT_TRUE(from >= 0 && from < n && !taken[static_cast<std::size_t>(from)]) << s.note();
      taken[static_cast<std::size_t>(from)] = true;
      for (std::int64_t row = 0; row < m; ++row)
        moved(row, j) = before(row, from);
    }
    const wide_matrix r = f.upper(i, m, n);
    expect_small(s, ratio(f.applied_to(r, i, m, n) - moved, std::max(m, n), norm_of(moved), c.type),
                 "Q·R − a·P");
    expect_small(s, orthogonality(f.applied_to(identity(m), i, m, n), c.type), "Qᴴ·Q − 1");
    expect_descending(s, r, c.type, norm_of(moved));
  }
}

TEST(SolverQr, Geqp3FactorsWithPivots) {
  for (const dtype type : classic_types) {
    for (const arrangement how : arrangements) {
      for (const matrix_size& mn : qr_sizes) {
        expect_pivoted({.type = type, .size = mn, .how = how});
        expect_pivoted({.type = type, .batch = {3}, .size = mn, .how = how, .in_place = true});
      }
    }
    for (const spectrum what : spectra) {
      expect_pivoted({.type = type, .size = {33, 20}, .how = arrangement::row, .what = what});
      expect_pivoted({.type = type, .size = {20, 33}, .what = what});
    }
    for (const double scale : far_scales(type))
      expect_pivoted({.type = type, .size = {12, 9}, .scale = scale});
    expect_pivoted({.type = type, .size = {50, 40}, .what = spectrum::deficient});
    expect_pivoted({.type = type, .size = {100, 3}});
  }
}

TEST(SolverQr, OrgqrWritesQ) {
  const auto expect = [](dtype type, matrix_size mn, arrangement how, solver::basis basis) {
    const auto [m, n] = mn;
    const reflectors f(type, {2}, m, n, arrangement::column);
    scene s;
    s.name(case_name(type, m, n, how));
    const std::int64_t k = std::min(m, n);
    auto& qr = matrices(s, type, {2}, m, n, how);
    auto& tau = vectors(s, type, {2}, k);
    s.fill(qr, f.qr);
    s.fill(tau, f.tau);
    auto& q = matrices(s, type, {2}, m, basis == solver::basis::full ? m : k, how);
    s.run(solver::orgqr{.qr = qr.view, .tau = tau.view, .q = q.view, .basis = basis});
    for (std::int64_t i = 0; i < 2; ++i) {
      const wide_matrix found = s.now(q, i);
      expect_small(s, orthogonality(found, type), "Qᴴ·Q − 1");
      const wide_matrix expected = first_columns(f.applied_to(identity(m), i, m, n), found.columns);
      expect_small(s, ratio(found - expected, m, 1, type), "Q − Q of the reflectors");
    }
  };
  for (const dtype type : classic_types) {
    for (const solver::basis basis : {solver::basis::thin, solver::basis::full}) {
      for (const arrangement how : arrangements) {
        for (const matrix_size& mn : qr_sizes)
          expect(type, mn, how, basis);
      }
      expect(type, {150, 100}, arrangement::column, basis);
    }
  }
}

TEST(SolverQr, OrgqrWorksInPlace) {
  for (const arrangement how : arrangements) {
    const reflectors f(dtype::f64, {}, 6, 6, arrangement::column);
    scene s;
    auto& qr = matrices(s, dtype::f64, {}, 6, 6, how);
    auto& tau = vectors(s, dtype::f64, {}, 6);
    s.fill(qr, f.qr);
    s.fill(tau, f.tau);
    s.run(solver::orgqr{.qr = qr.view, .tau = tau.view, .q = qr.view});
    expect_small(
        s, ratio(wide_matrix(s.now(qr)) - f.applied_to(identity(6), 0, 6, 6), 6, 1, dtype::f64),
        "Q − Q of the reflectors");
  }
}

TEST(SolverQr, OrmqrMultipliesByQ) {
  const auto expect = [](dtype type, matrix_size mk, arrangement how, blas::side side,
                         blas::storage_op op, bool in_place) {
    const auto [r, k] = mk;
    const reflectors f(type, {2}, r, k, arrangement::column);
    scene s;
    s.name(case_name(type, r, k, how));
    const bool left = side == blas::side::left;
    const std::int64_t other = 5;
    auto& qr = matrices(s, type, {2}, r, k, how);
    auto& tau = vectors(s, type, {2}, std::min(r, k));
    s.fill(qr, f.qr);
    s.fill(tau, f.tau);
    auto& x = matrices(s, type, {2}, left ? r : other, left ? other : r, how);
    auto& y =
        in_place ? x : matrices(s, type, {2}, left ? r : other, left ? other : r, arrangement::row);
    s.run(solver::ormqr{
        .qr = qr.view, .tau = tau.view, .x = x.view, .y = y.view, .side = side, .op_q = op});
    for (std::int64_t i = 0; i < 2; ++i) {
      wide_matrix q = f.applied_to(identity(r), i, r, k);
      if (op != blas::storage_op::none) q = adjoint(q);
      const wide_matrix before = x.before(i);
      const wide_matrix expected = left ? q * before : before * q;
      expect_small(
          s, ratio(wide_matrix(s.now(y, i)) - expected, r, std::max(norm_of(before), 1.0L), type),
          "y − op(Q)·x");
    }
  };
  for (const dtype type : classic_types) {
    for (const blas::side side : sides) {
      for (const blas::storage_op op : storage_ops) {
        if (op == blas::storage_op::conjugate) continue;
        if (op == blas::storage_op::transpose && is_complex(type)) continue;
        for (const arrangement how : arrangements) {
          for (const matrix_size& mk : qr_sizes) {
            expect(type, mk, how, side, op, false);
            expect(type, mk, how, side, op, true);
          }
        }
        expect(type, {90, 70}, arrangement::column, side, op, false);
      }
    }
  }
}

TEST(SolverQr, RefusesWhatItCannotDo) {
  scene s;
  const auto type = dtype::c64;
  const auto a = matrices(s, type, {}, 5, 3, arrangement::row).view;
  const auto qr = matrices(s, type, {}, 5, 3, arrangement::row).view;
  const auto tau = vectors(s, type, {}, 3).view;
  const auto x = matrices(s, type, {}, 5, 2, arrangement::row).view;
  const auto y = matrices(s, type, {}, 5, 2, arrangement::row).view;
  s.refuse(solver::geqrf{.a = a, .qr = qr, .tau = vectors(s, type, {}, 5).view},
           errc::shape_mismatch, "tau must have 3 elements (min(m, n)) because a is [5, 3]");
  s.refuse(solver::orgqr{.qr = qr,
                         .tau = tau,
                         .q = matrices(s, type, {}, 5, 3, arrangement::row).view,
                         .basis = solver::basis::full},
           errc::shape_mismatch, "q");
  s.refuse(solver::ormqr{.qr = qr, .tau = tau, .x = x, .y = y, .op_q = blas::storage_op::transpose},
           errc::unsupported, "op_q is transpose, which LAPACK does not take for c64");
  s.refuse(solver::ormqr{.qr = qr, .tau = tau, .x = x, .y = y, .op_q = blas::storage_op::conjugate},
           errc::unsupported, "op_q is conjugate");
  s.refuse(solver::ormqr{.qr = qr, .tau = tau, .x = x, .y = y, .side = blas::side::right},
           errc::shape_mismatch, "qr");
}

}  // namespace
}  // namespace troupe::conformance
