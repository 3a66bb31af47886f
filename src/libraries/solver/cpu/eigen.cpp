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

template <class T>
result<void> eig(const solver::eig& r, lane_context& lane) {
  using complex = std::complex<real_t<T>>;
  const std::int64_t count = batch_count(r.a);
  outcomes ended(r.a, r.info);
  if (count == 0) return {};
  const std::int64_t n = r.a.extent(r.a.rank() - 1);
  const std::int64_t ld = std::max<std::int64_t>(n, 1);
  const char left = r.left ? 'V' : 'N';
  const char right = r.right ? 'V' : 'N';
  scratch memory;
  const auto copy = memory.add<T>(n * n);
  const auto left_vectors = memory.add<T>(r.left ? n * n : 0);
  const auto right_vectors = memory.add<T>(r.right ? n * n : 0);
  const auto real_space = memory.add<real_t<T>>(2 * n);
  // `reals`: workspace of a complex routine; the real and the imaginary parts of a real one's w.
  const auto call = [&](T* a, complex* w, real_t<T>* reals, real_t<T>* imaginary, T* vl, T* vr,
                        T* work, const blasint& lwork) {
    blasint info = 0;
    if constexpr (complex_v<T>) {
      solver_lapack<T>::geev(&left, &right, &n, a, &ld, w, vl, &ld, vr, &ld, work, &lwork, reals,
                             &info, 1, 1);
    } else {
      solver_lapack<T>::geev(&left, &right, &n, a, &ld, reals, imaginary, vl, &ld, vr, &ld, work,
                             &lwork, &info, 1, 1);
    }
    return info;
  };
  T best{};
  real_t<T> answered{};  // a query writes here too
  (void)call(nullptr, nullptr, &answered, nullptr, nullptr, nullptr, &best, -1);
  const blasint lwork = std::max<std::int64_t>(enough(best), 4 * n + 1);
  const auto space = memory.add<T>(lwork);
  if (auto taken = memory.take(lane); !taken) return taken;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto a = column_major(memory[copy], n, n);
    copy_matrix(matrix_of<T>(r.a, i), a);
    if (!is_finite(a)) {
      ended.note_not_finite(i);
      continue;
    }
    complex* const w = vector_of<complex>(r.w, i);
    const blasint info = call(a.at, w, memory[real_space], memory[real_space] + n,
                              memory[left_vectors], memory[right_vectors], memory[space], lwork);
    if constexpr (complex_v<T>) {
      if (r.left) copy_matrix(column_major(memory[left_vectors], n, n), matrix_of<T>(r.vl, i));
      if (r.right) copy_matrix(column_major(memory[right_vectors], n, n), matrix_of<T>(r.vr, i));
    } else {
      const real_t<T>* const real = memory[real_space];
      const real_t<T>* const imaginary = real + n;
      for (std::int64_t j = 0; j < n; ++j)
        w[j] = {real[j], imaginary[j]};
      if (r.left)
        spread_vectors(imaginary, column_major(memory[left_vectors], n, n),
                       matrix_of<complex>(r.vl, i));
      if (r.right)
        spread_vectors(imaginary, column_major(memory[right_vectors], n, n),
                       matrix_of<complex>(r.vr, i));
    }
    ended.note(i, info, solver::missing_eigenvalues);
  }
  return ended.verdict();
}

result<void> run_eig(const solver::eig& r, lane_context& lane) {
  return with_classic_type(r.a.type(), [&]<class T>(T) { return eig<T>(r, lane); });
}

const plugin_operations eigen_operations([](operation_table& table) {
  table.add<solver::eig>(run_eig);
});

}  // namespace
}  // namespace troupe::cpu
