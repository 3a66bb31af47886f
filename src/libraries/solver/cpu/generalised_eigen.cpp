#include "libraries/solver/cpu/conjugate_pairs.hpp"
#include "libraries/solver/cpu/lapack.hpp"
#include "libraries/solver/cpu/outcomes.hpp"
#include "libraries/solver/cpu/scratch.hpp"

#include <troupe/plugin/static_registration.hpp>
#include <troupe/solver/eigen.hpp>

#include <algorithm>
#include <complex>

namespace troupe::cpu {
namespace {

/// The working memory of xGGEV for one matrix.
template <class T>
struct pencil_memory {
  T* a = nullptr;
  T* b = nullptr;
  T* vl = nullptr;
  T* vr = nullptr;
  std::complex<real_t<T>>* alpha = nullptr;
  T* beta = nullptr;
  real_t<T>* reals = nullptr;  // alpha's real parts, or workspace of a complex routine
  real_t<T>* imaginary = nullptr;
  T* work = nullptr;
};

template <class T>
blasint call_ggev(const solver::eig_generalised& r, const pencil_memory<T>& m, blasint lwork) {
  const std::int64_t n = r.a.extent(r.a.rank() - 1);
  const std::int64_t ld = std::max<std::int64_t>(n, 1);
  const char left = r.left ? 'V' : 'N';
  const char right = r.right ? 'V' : 'N';
  blasint info = 0;
  if constexpr (complex_v<T>) {
    solver_lapack<T>::ggev(&left, &right, &n, m.a, &ld, m.b, &ld, m.alpha, m.beta, m.vl, &ld, m.vr,
                           &ld, m.work, &lwork, m.reals, &info, 1, 1);
  } else {
    solver_lapack<T>::ggev(&left, &right, &n, m.a, &ld, m.b, &ld, m.reals, m.imaginary, m.beta,
                           m.vl, &ld, m.vr, &ld, m.work, &lwork, &info, 1, 1);
  }
  return info;
}

/// Stores vectors as the request has them.
template <class T>
void store_vectors(const solver::eig_generalised& r, std::int64_t matrix, const T* from,
                   const real_t<T>* imaginary, const any_tensor& to) {
  using complex = std::complex<real_t<T>>;
  const std::int64_t n = r.a.extent(r.a.rank() - 1);
  const auto found = column_major(const_cast<T*>(from), n, n);
  if constexpr (complex_v<T>) {
    copy_matrix(found, matrix_of<T>(to, matrix));
  } else {
    spread_vectors(imaginary, found, matrix_of<complex>(to, matrix));
  }
}

template <class T>
result<void> eig_generalised(const solver::eig_generalised& r, lane_context& lane) {
  using complex = std::complex<real_t<T>>;
  const std::int64_t count = batch_count(r.a);
  outcomes ended(r.a, r.info);
  const std::int64_t n = r.a.extent(r.a.rank() - 1);
  if (count == 0) return {};
  T best{};
  pencil_memory<T> none;
  none.work = &best;
  (void)call_ggev<T>(r, none, -1);
  const blasint lwork = std::max<std::int64_t>(enough(best), 8 * n + 1);
  scratch memory;
  const auto a = memory.add<T>(n * n);
  const auto b = memory.add<T>(n * n);
  const auto vl = memory.add<T>(r.left ? n * n : 0);
  const auto vr = memory.add<T>(r.right ? n * n : 0);
  const auto beta = memory.add<T>(n);
  const auto reals = memory.add<real_t<T>>(8 * n);
  const auto work = memory.add<T>(lwork);
  if (auto taken = memory.take(lane); !taken) return taken;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto left_side = column_major(memory[a], n, n);
    const auto right_side = column_major(memory[b], n, n);
    copy_matrix(matrix_of<T>(r.a, i), left_side);
    copy_matrix(matrix_of<T>(r.b, i), right_side);
    if (!is_finite(left_side) || !is_finite(right_side)) {
      ended.note_not_finite(i);
      continue;
    }
    const pencil_memory<T> m{.a = memory[a],
                             .b = memory[b],
                             .vl = memory[vl],
                             .vr = memory[vr],
                             .alpha = vector_of<complex>(r.alpha, i),
                             .beta = memory[beta],
                             .reals = memory[reals],
                             .imaginary = memory[reals] + n,
                             .work = memory[work]};
    const blasint info = n > 0 ? call_ggev<T>(r, m, lwork) : 0;
    real_t<T>* const its_beta = vector_of<real_t<T>>(r.beta, i);
    for (std::int64_t j = 0; j < n; ++j) {
      its_beta[j] = std::real(m.beta[j]);
      if constexpr (!complex_v<T>) m.alpha[j] = {m.reals[j], m.imaginary[j]};
    }
    if (r.left) store_vectors<T>(r, i, m.vl, m.imaginary, r.vl);
    if (r.right) store_vectors<T>(r, i, m.vr, m.imaginary, r.vr);
    ended.note(i, info, solver::missing_eigenvalues);
  }
  return ended.verdict();
}

result<void> run_eig_generalised(const solver::eig_generalised& r, lane_context& lane) {
  return with_classic_type(r.a.type(), [&]<class T>(T) { return eig_generalised<T>(r, lane); });
}

const plugin_operations generalised_eigen_operations([](operation_table& table) {
  table.add<solver::eig_generalised>(run_eig_generalised);
});

}  // namespace
}  // namespace troupe::cpu
