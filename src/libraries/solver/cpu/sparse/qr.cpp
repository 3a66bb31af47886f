#include "libraries/solver/cpu/sparse/eigen_solve.hpp"
#include "libraries/solver/cpu/sparse/matching.hpp"
#include "libraries/solver/cpu/sparse/sparse_solve.hpp"

#include <Eigen/SparseQR>

namespace troupe::cpu {
namespace {

/// Eigen's QR, which makes row j the pivot of column j even if there is no element: then its
/// factors fill up. So rows are permuted so that there is one.
template <class T, class Order>
class row_matched_qr {
  using permutation = Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, std::int64_t>;

 public:
  // Eigen's name. NOLINTNEXTLINE(readability-identifier-naming)
  void analyzePattern(const eigen_matrix<T>& a) {
    Order()(a, columns_);
    if (columns_.size() == 0) columns_.setIdentity(a.cols());
    const eigen_matrix<T> ordered = a * columns_.inverse();
    match(ordered);
    solver_.analyzePattern(permuted(a));
  }
  void factorize(const eigen_matrix<T>& a) { solver_.factorize(permuted(a)); }
  template <class Dense>
  [[nodiscard]] Dense solve(const Dense& b) const {
    const Dense ordered = rows_ * b;
    const Dense x = solver_.solve(ordered);
    return columns_.inverse() * x;
  }
  [[nodiscard]] std::int64_t rank() const { return solver_.rank(); }
  [[nodiscard]] std::int64_t cols() const { return solver_.cols(); }

 private:
  void match(const eigen_matrix<T>& ordered) {
    const std::int64_t m = ordered.rows();
    const std::int64_t n = ordered.cols();
    const auto found =
        match_rows({ordered.outerIndexPtr(), static_cast<std::size_t>(n + 1)},
                   {ordered.innerIndexPtr(), static_cast<std::size_t>(ordered.nonZeros())}, m);
    rows_.resize(m);
    rows_.indices().setConstant(-1);
    std::vector<std::int64_t> places;  // that no row has yet, the last first
    for (std::int64_t j = m; j-- > n;)
      places.push_back(j);
    for (std::int64_t j = n; j-- > 0;) {
      if (const std::int64_t row = found[static_cast<std::size_t>(j)]; row >= 0) {
        rows_.indices()(row) = j;
      } else {
        places.push_back(j);
      }
    }
    for (std::int64_t i = 0; i < m; ++i) {
      if (rows_.indices()(i) >= 0) continue;
      rows_.indices()(i) = places.back();
      places.pop_back();
    }
  }
  [[nodiscard]] eigen_matrix<T> permuted(const eigen_matrix<T>& a) const {
    const eigen_matrix<T> ordered = a * columns_.inverse();
    eigen_matrix<T> matched = rows_ * ordered;
    matched.makeCompressed();
    return matched;
  }

  permutation columns_;
  permutation rows_;
  Eigen::SparseQR<eigen_matrix<T>, Eigen::NaturalOrdering<std::int64_t>> solver_;
};

}  // namespace

result<void> solve_qr(const solver::sparse_qr& r) {
  using ordering = Eigen::COLAMDOrdering<std::int64_t>;
  return with_ordering<ordering>(r, [&]<class T, class Order>(T, Order) {
    using routine = row_matched_qr<T, Order>;
    return solve_with<routine, T>(r, [](const routine& solver) {
      if (solver.rank() == solver.cols()) return std::string();
      return "rank deficient: rank " + std::to_string(solver.rank()) + " of " +
             std::to_string(solver.cols());
    });
  });
}

}  // namespace troupe::cpu
