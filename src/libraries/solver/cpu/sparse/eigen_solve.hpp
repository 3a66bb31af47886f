#pragma once

#include "libraries/solver/cpu/matrices.hpp"
#include "libraries/solver/cpu/sparse/analyses.hpp"
#include "libraries/solver/shared/outcomes.hpp"

#include <troupe/solver/modes.hpp>

#include <Eigen/OrderingMethods>
#include <Eigen/SparseCore>

#include <memory>
#include <string>
#include <utility>

namespace troupe::cpu {

template <class T>
using eigen_matrix = Eigen::SparseMatrix<T, Eigen::ColMajor, std::int64_t>;

inline error numerical(std::string message) {
  return {.code = errc::numerical, .message = std::move(message)};
}

template <class T>
[[nodiscard]] eigen_matrix<T> matrix_from(const solver::sparse_pattern& p,
                                          const any_tensor& values) {
  using rows = Eigen::SparseMatrix<T, Eigen::RowMajor, std::int64_t>;
  return Eigen::Map<const rows>(p.rows, p.columns, static_cast<std::int64_t>(p.places.size()),
                                p.offsets.data(), p.places.data(), values.data<T>());
}

/// Solves with `Solver`, one of Eigen's. `failed(solver)` says why there is no answer, after
/// factoring: an empty text if there is one.
template <class Solver, class T, class R, class Failed>
result<void> solve_with(const R& r, Failed failed) {
  const std::int64_t m = r.b.extent(0);
  const std::int64_t n = r.x.extent(0);
  auto pattern = solver::read_pattern(r.offsets, r.columns, m, n);
  if (!pattern) return std::move(pattern).error();
  if (!is_finite(r.values.template data<T>(), r.values.count()))
    return numerical(std::string(solver::not_finite));
  if (n == 0) return {};
  const eigen_matrix<T> a = matrix_from<T>(*pattern, r.values);
  analyses<Solver>& known = the_analyses<Solver>();
  std::unique_ptr<Solver> solver = known.take(*pattern);
  if (solver == nullptr) {
    solver = std::make_unique<Solver>();
    solver->analyzePattern(a);
  }
  solver->factorize(a);
  if (std::string why = failed(*solver); !why.empty()) {
    // Another matrix of this pattern may have a solution, but Eigen does not document the state of
    // a
    // solver that has failed.
    return numerical(std::move(why));
  }
  using dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  dense sides(m, r.b.extent(1));
  copy_matrix(matrix_of<T>(r.b, 0), column_major(sides.data(), m, r.b.extent(1)));
  dense solutions = solver->solve(sides);
  known.keep(*std::move(pattern), std::move(solver));
  copy_matrix(column_major(solutions.data(), n, r.x.extent(1)), matrix_of<T>(r.x, 0));
  return {};
}

/// Calls `solve` with the C++ type of the elements and with what orders them: `Ordering` or none.
template <class Ordering, class R, class Solve>
result<void> with_ordering(const R& r, Solve solve) {
  using natural = Eigen::NaturalOrdering<std::int64_t>;
  const bool none = r.ordering == solver::ordering::none;
  if (r.values.type() == dtype::f32)
    return none ? solve(float{}, natural{}) : solve(float{}, Ordering{});
  return none ? solve(double{}, natural{}) : solve(double{}, Ordering{});
}

}  // namespace troupe::cpu
