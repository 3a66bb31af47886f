#include "libraries/solver/cpu/sparse/eigen_solve.hpp"
#include "libraries/solver/cpu/sparse/sparse_solve.hpp"

#include <Eigen/SparseQR>

namespace troupe::cpu {

result<void> solve_qr(const solver::sparse_qr& r) {
  using ordering = Eigen::COLAMDOrdering<std::int64_t>;
  return with_ordering<ordering>(r, [&]<class T, class Order>(T, Order) {
    using routine = Eigen::SparseQR<eigen_matrix<T>, Order>;
    return solve_with<routine, T>(r, [](const routine& solver) {
      if (solver.rank() == solver.cols()) return std::string();
      return "rank deficient: rank " + std::to_string(solver.rank()) + " of " +
             std::to_string(solver.cols());
    });
  });
}

}  // namespace troupe::cpu
