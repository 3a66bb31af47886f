#pragma once

#include "libraries/solver/cpu/lapack.hpp"
#include "libraries/solver/cpu/scratch.hpp"

#include <troupe/solver/svd.hpp>

#include <algorithm>
#include <cstdint>

namespace troupe::cpu {

template <class T>
void set_identity(const matrix_view<T>& a) {
  for (std::int64_t j = 0; j < a.columns; ++j) {
    for (std::int64_t i = 0; i < a.rows; ++i)
      a(i, j) = i == j ? T(1) : T{};
  }
}

/// LAPACK's routines for singular values, of matrices of one shape, neither extent 0.
template <class T>
class singular_values {
 public:
  singular_values(solver::svd_driver driver, solver::singular_vectors vectors, std::int64_t m,
                  std::int64_t n, scratch& memory)
      : driver_(driver), vectors_(vectors), m_(m), n_(n) {
    const std::int64_t least = std::min(m, n);
    const std::int64_t most = std::max(m, n);
    if (least == 0) return;
    std::int64_t reals = 0;
    if (driver == solver::svd_driver::jacobi) {
      // The largest of what xGEJSV asks for in all its cases, and blocks for its QR.
      lwork_ = 2 * m + 6 * n + 2 * n * n + block * (m + n) + 7;
      lreals_ = reals = complex_v<T> ? 2 * m + 4 * n + 7 : 0;
      integers_ = memory.add<blasint>(m + 3 * n + 4);
      right_ = memory.add<T>(has_vectors() ? n * n : 0);
      right_at_ = true;
    } else {
      T best{};
      const matrix_view<T> nothing{nullptr, m, n, 1, m};
      lwork_ = -1;
      (void)call(nothing, nullptr, place_of(nullptr, m), place_of(nullptr, n), &best, nullptr,
                 nullptr);
      lwork_ = std::max(enough(best), 3 * least + most);
      if (complex_v<T>) {
        reals =
            std::max(5 * least * least + 7 * least, 2 * most * least + 2 * least * least + least);
      }
      integers_ = memory.add<blasint>(8 * least);
    }
    work_ = memory.add<T>(lwork_);
    reals_ = memory.add<real_t<T>>(reals);
  }

  /// Decomposes `a`, whose content is lost. All are column-major.
  blasint run(const scratch& memory, const matrix_view<T>& a, real_t<T>* s, const matrix_view<T>& u,
              const matrix_view<T>& vh) {
    if (!right_at_) return call(a, s, u, vh, memory[work_], memory[reals_], memory[integers_]);
    return jacobi(memory, a, s, u, vh);
  }

 private:
  static constexpr std::int64_t block = 64;

  [[nodiscard]] bool has_vectors() const { return vectors_ != solver::singular_vectors::none; }
  [[nodiscard]] static matrix_view<T> place_of(T* at, std::int64_t n) {
    return {at, n, n, 1, std::max<std::int64_t>(n, 1)};
  }

  blasint call(const matrix_view<T>& a, real_t<T>* s, const matrix_view<T>& u,
               const matrix_view<T>& vh, T* work, real_t<T>* reals, blasint* integers) const {
    const char job = "NSA"[static_cast<int>(vectors_)];
    const std::int64_t lda = a.ld();
    const std::int64_t ldu = std::max<std::int64_t>(u.ld(), 1);
    const std::int64_t ldvh = std::max<std::int64_t>(vh.ld(), 1);
    blasint info = 0;
    using routine = solver_lapack<T>;
    if (driver_ == solver::svd_driver::qr) {
      if constexpr (complex_v<T>) {
        routine::gesvd(&job, &job, &m_, &n_, a.at, &lda, s, u.at, &ldu, vh.at, &ldvh, work, &lwork_,
                       reals, &info, 1, 1);
      } else {
        routine::gesvd(&job, &job, &m_, &n_, a.at, &lda, s, u.at, &ldu, vh.at, &ldvh, work, &lwork_,
                       &info, 1, 1);
      }
    } else if constexpr (complex_v<T>) {
      routine::gesdd(&job, &m_, &n_, a.at, &lda, s, u.at, &ldu, vh.at, &ldvh, work, &lwork_, reals,
                     integers, &info, 1);
    } else {
      routine::gesdd(&job, &m_, &n_, a.at, &lda, s, u.at, &ldu, vh.at, &ldvh, work, &lwork_,
                     integers, &info, 1);
    }
    return info;
  }

  blasint jacobi(const scratch& memory, const matrix_view<T>& a, real_t<T>* s,
                 const matrix_view<T>& u, const matrix_view<T>& vh) const {
    const char job_a = 'C';
    const char job_u = "NUF"[static_cast<int>(vectors_)];
    const char job_v = has_vectors() ? 'V' : 'N';
    const char restricted = 'R';
    const char no = 'N';
    const std::int64_t lda = a.ld();
    const std::int64_t ldu = std::max(u.ld(), m_);
    T* const v = memory[right_];
    T* const work = memory[work_];
    real_t<T>* reals = memory[reals_];
    blasint info = 0;
    using routine = solver_lapack<T>;
    if constexpr (complex_v<T>) {
      routine::gejsv(&job_a, &job_u, &job_v, &restricted, &no, &no, &m_, &n_, a.at, &lda, s, u.at,
                     &ldu, v, &n_, work, &lwork_, reals, &lreals_, memory[integers_], &info, 1, 1,
                     1, 1, 1, 1);
    } else {
      routine::gejsv(&job_a, &job_u, &job_v, &restricted, &no, &no, &m_, &n_, a.at, &lda, s, u.at,
                     &ldu, v, &n_, work, &lwork_, memory[integers_], &info, 1, 1, 1, 1, 1, 1);
      reals = work;
    }
    // Values out of range come scaled.
    const real_t<T> scale = reals[0] / reals[1];
    for (std::int64_t i = 0; scale != 1 && i < n_; ++i)
      s[i] *= scale;
    for (std::int64_t j = 0; has_vectors() && j < n_; ++j) {
      for (std::int64_t i = 0; i < n_; ++i)
        vh(j, i) = conjugate(v[i + j * n_]);
    }
    return info;
  }

  solver::svd_driver driver_;
  solver::singular_vectors vectors_;
  std::int64_t m_;
  std::int64_t n_;
  blasint lwork_ = 0;
  blasint lreals_ = 0;
  bool right_at_ = false;  ///< by Jacobi
  piece<T> work_;
  piece<real_t<T>> reals_;
  piece<blasint> integers_;
  piece<T> right_;
};

/// Makes the columns of a matrix with no more columns than rows an orthonormal basis, by QR.
template <class T>
class orthonormal_basis {
 public:
  orthonormal_basis(std::int64_t most_rows, std::int64_t columns, scratch& memory) {
    const std::int64_t ld = std::max<std::int64_t>(most_rows, 1);
    blasint info = 0;
    blasint query = -1;
    T best{};
    T second{};
    solver_lapack<T>::geqrf(&most_rows, &columns, nullptr, &ld, nullptr, &best, &query, &info);
    solver_lapack<T>::ungqr(&most_rows, &columns, &columns, nullptr, &ld, nullptr, &second, &query,
                            &info);
    lwork_ = std::max({enough(best), enough(second), std::int64_t{1}});
    work_ = memory.add<T>(lwork_);
    tau_ = memory.add<T>(columns);
  }
  void make(const scratch& memory, const matrix_view<T>& a) const {
    const std::int64_t ld = a.ld();
    blasint info = 0;
    T* const tau = memory[tau_];
    T* const work = memory[work_];
    solver_lapack<T>::geqrf(&a.rows, &a.columns, a.at, &ld, tau, work, &lwork_, &info);
    solver_lapack<T>::ungqr(&a.rows, &a.columns, &a.columns, a.at, &ld, tau, work, &lwork_, &info);
  }

 private:
  blasint lwork_ = 0;
  piece<T> work_;
  piece<T> tau_;
};

}  // namespace troupe::cpu
