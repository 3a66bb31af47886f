#include "libraries/solver/cpu/sparse/eigen_solve.hpp"
#include "libraries/solver/cpu/sparse/sparse_solve.hpp"

#include <Eigen/SparseCholesky>

namespace troupe::cpu {

result<void> solve_cholesky(const solver::sparse_cholesky& r) {
  using ordering = Eigen::AMDOrdering<std::int64_t>;
  return with_ordering<ordering>(r, [&]<class T, class Order>(T, Order) {
    using routine = Eigen::SimplicialLLT<eigen_matrix<T>, Eigen::Lower, Order>;
    return solve_with<routine, T>(r, [](const routine& solver) {
      return std::string(solver.info() == Eigen::Success ? "" : "not positive definite");
    });
  });
}

}  // namespace troupe::cpu
