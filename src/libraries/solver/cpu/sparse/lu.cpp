#include "libraries/solver/cpu/sparse/eigen_solve.hpp"
#include "libraries/solver/cpu/sparse/sparse_solve.hpp"

#include <Eigen/SparseLU>

namespace troupe::cpu {

result<void> solve_lu(const solver::sparse_lu& r) {
  using ordering = Eigen::COLAMDOrdering<std::int64_t>;
  return with_ordering<ordering>(r, [&]<class T, class Order>(T, Order) {
    using routine = Eigen::SparseLU<eigen_matrix<T>, Order>;
    return solve_with<routine, T>(r, [](const routine& solver) {
      return std::string(solver.info() == Eigen::Success ? "" : "singular");
    });
  });
}

}  // namespace troupe::cpu
