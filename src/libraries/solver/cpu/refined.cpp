#include "libraries/solver/cpu/lapack.hpp"
#include "libraries/solver/cpu/outcomes.hpp"
#include "libraries/solver/cpu/scratch.hpp"

#include <troupe/plugin/static_registration.hpp>
#include <troupe/solver/refined.hpp>

#include <cmath>
#include <limits>
#include <type_traits>

namespace troupe::cpu {
namespace {

constexpr int most_refinements = 30;  // LAPACK's ITERMAX

// LAPACK's DSGESV accepts a residual of √n ε‖a‖‖x‖ in any column, as it computes it. Half of that
// is asked for here: the caller computes the same residual in another order, which moves it by some
// ε‖a‖‖x‖ over a limit that was just met.
constexpr double part_of_lapacks_limit = 0.5;

template <class T>
using half_t = std::conditional_t<complex_v<T>, c64, float>;

/// Rounds to half the precision. False where a number is out of its range, or none.
template <class T>
bool narrow(const T* from, std::int64_t count, half_t<T>* to) {
  constexpr double most = std::numeric_limits<float>::max();
  const auto* const numbers = reinterpret_cast<const double*>(from);
  auto* const narrowed = reinterpret_cast<float*>(to);
  bool fits = true;
  for (std::int64_t i = 0; i < count * (complex_v<T> ? 2 : 1); ++i) {
    const bool one = std::abs(numbers[i]) <= most;
    narrowed[i] = one ? static_cast<float>(numbers[i]) : 0;
    fits = fits && one;
  }
  return fits;
}

/// The largest sum of absolute values in a row.
template <class T>
double norm_of(const matrix_view<T>& a, double* sums) {
  std::fill_n(sums, a.rows, 0.0);
  for (std::int64_t j = 0; j < a.columns; ++j) {
    for (std::int64_t i = 0; i < a.rows; ++i)
      sums[i] += std::abs(a(i, j));
  }
  return *std::max_element(sums, sums + a.rows);
}

/// The largest element of a column, by the sum of its parts' absolute values; NaN where one is.
template <class T>
double largest(const matrix_view<T>& m, std::int64_t column) {
  double most = 0;
  for (std::int64_t i = 0; i < m.rows; ++i) {
    double size = 0;
    if constexpr (complex_v<T>) {
      size = std::abs(m(i, column).real()) + std::abs(m(i, column).imag());
    } else {
      size = std::abs(m(i, column));
    }
    if (size > most || std::isnan(size)) most = size;
  }
  return most;
}

/// One system, in its workspace: all column-major.
template <class T>
struct refined_system {
  matrix_view<T> a;
  matrix_view<T> b;
  matrix_view<T> x;
  matrix_view<T> residuals;
  half_t<T>* factors;
  half_t<T>* sides;
  double* norms;
  blasint* pivots;

  /// How often x was refined. If half the precision is not enough it is negative, with LAPACK's
  /// numbers for the reason, and x has no meaning.
  blasint solve() const {
    blasint info = 0;
    const std::int64_t n = a.rows;
    if (!narrow(b.at, n * b.columns, sides) || !narrow(a.at, n * n, factors)) return -2;
    lapack<half_t<T>>::getrf(&n, &n, factors, &n, pivots, &info);
    if (info != 0) return -3;
    const double limit = part_of_lapacks_limit * std::sqrt(static_cast<double>(n)) *
                         (std::numeric_limits<double>::epsilon() / 2) * norm_of(a, norms);
    double before = std::numeric_limits<double>::infinity();
    clear(x);
    for (int done = 0;; ++done) {
      add_solution();
      const double now = subtract_product();
      if (now <= limit) return done;
      // One that does not get better never will.
      if (done == most_refinements || !(now < before)) return -most_refinements - 1;
      before = now;
      if (!narrow(residuals.at, n * b.columns, sides)) return -2;
    }
  }

  /// The same in full precision, in which a is lost. Answers LAPACK's info.
  blasint solve_in_full() const {
    blasint info = 0;
    const std::int64_t ldx = x.ld();
    lapack<T>::getrf(&a.rows, &a.rows, a.at, &a.rows, pivots, &info);
    if (info != 0) return info;
    copy_matrix(b, x);
    lapack<T>::getrs("N", &a.rows, &x.columns, a.at, &a.rows, pivots, x.at, &ldx, &info, 1);
    return info;
  }

 private:
  static void clear(const matrix_view<T>& m) {
    for (std::int64_t j = 0; j < m.columns; ++j)
      std::fill_n(&m(0, j), m.rows, T{});
  }
  // x += a⁻¹ · sides
  void add_solution() const {
    blasint info = 0;
    lapack<half_t<T>>::getrs("N", &a.rows, &x.columns, factors, &a.rows, pivots, sides, &a.rows,
                             &info, 1);
    const half_t<T>* from = sides;
    for (std::int64_t j = 0; j < x.columns; ++j) {
      for (std::int64_t i = 0; i < x.rows; ++i)
        x(i, j) += static_cast<T>(*from++);
    }
  }
  // residuals = b − a · x. Answers the largest of the columns' norms, divided by that of x.
  double subtract_product() const {
    const T one(1);
    const T minus_one(-1);
    copy_matrix(b, residuals);
    routines<T>::gemm(CblasColMajor, CblasNoTrans, CblasNoTrans, a.rows, x.columns, a.rows,
                      by(minus_one), a.at, a.rows, x.at, x.ld(), by(one), residuals.at, a.rows);
    double most = 0;
    for (std::int64_t j = 0; j < x.columns; ++j) {
      const double left = largest(residuals, j);
      if (left == 0) continue;
      const double of_x = left / largest(x, j);
      if (of_x > most || std::isnan(of_x)) most = of_x;
    }
    return most;
  }
};

template <class T>
result<void> gesv_refined(const solver::gesv_refined& r, lane_context& lane) {
  const std::int64_t count = batch_count(r.a);
  outcomes ended(r.a, r.info);
  if (count == 0) return {};
  scratch memory;
  const column_major_place<T> place(memory, matrix_of<T>(r.x, 0));
  const std::int64_t n = r.a.extent(r.a.rank() - 1);
  const std::int64_t nrhs = r.x.extent(r.x.rank() - 1);
  const auto copy = memory.add<T>(n * n);
  const auto sides = memory.add<T>(n * nrhs);
  const auto residuals = memory.add<T>(n * nrhs);
  const auto half_factors = memory.add<half_t<T>>(n * n);
  const auto half_sides = memory.add<half_t<T>>(n * nrhs);
  const auto norms = memory.add<double>(n);
  const auto pivots = memory.add<blasint>(n);
  if (auto taken = memory.take(lane); !taken) return taken;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto x = matrix_of<T>(r.x, i);
    const refined_system<T> system{.a = column_major(memory[copy], n, n),
                                   .b = column_major(memory[sides], n, nrhs),
                                   .x = place.of(memory, x),
                                   .residuals = column_major(memory[residuals], n, nrhs),
                                   .factors = memory[half_factors],
                                   .sides = memory[half_sides],
                                   .norms = memory[norms],
                                   .pivots = memory[pivots]};
    copy_matrix(matrix_of<T>(r.a, i), system.a);
    copy_matrix(matrix_of<T>(r.b, i), system.b);
    const blasint refinements = n > 0 ? system.solve() : 0;
    const blasint info = refinements < 0 ? system.solve_in_full() : 0;
    copy_unless_same(system.x, x);
    if (!r.iterations.null())
      r.iterations.data<std::int32_t>()[i] = static_cast<std::int32_t>(refinements);
    ended.note(i, info, solver::zero_pivot);
  }
  return ended.verdict();
}

result<void> run_gesv_refined(const solver::gesv_refined& r, lane_context& lane) {
  return r.a.type() == dtype::f64 ? gesv_refined<double>(r, lane) : gesv_refined<c128>(r, lane);
}

const plugin_operations refined_operations([](operation_table& table) {
  table.add<solver::gesv_refined>(run_gesv_refined, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
