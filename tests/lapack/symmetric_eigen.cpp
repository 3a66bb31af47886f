#include "call.hpp"

#include <troupe/solver/cholesky.hpp>
#include <troupe/solver/symmetric_eigen.hpp>

namespace troupe::lapack {
namespace {

using solver::eigen_driver;
using solver::eigen_range;

/// Lengths of workspaces: complex numbers or all, real ones beside complex ones, integers. Real
/// types do not have the second; syev and sygv have only one length.
struct lengths {
  integer work = 0;
  integer rwork = 0;
  integer iwork = 0;

  [[nodiscard]] bool hold(const lengths& least) const {
    return work >= least.work && rwork >= least.rwork && iwork >= least.iwork;
  }
};

/// Those that a routine was given.
lengths given(const integer* lwork) { return {.work = *lwork}; }
template <class R>
lengths given(const integer* lwork, R* /*rwork*/) {
  return {.work = *lwork};
}
lengths given(const integer* lwork, integer* /*iwork*/, const integer* liwork) {
  return {.work = *lwork, .iwork = *liwork};
}
template <class R>
lengths given(const integer* lwork, R* /*rwork*/, const integer* lrwork, integer* /*iwork*/,
              const integer* liwork) {
  return {.work = *lwork, .rwork = *lrwork, .iwork = *liwork};
}

/// The least that LAPACK takes, of xSYEV and xSYGV, xSYEVD and xSYGVD, xSYEVR.
template <class T>
lengths least(bool divides, bool vectors, integer n) {
  if (!divides) return {.work = std::max<integer>(1, (complex_v<T> ? 2 : 3) * n - 1)};
  if (n <= 1) return {.work = 1, .rwork = complex_v<T> ? 1 : 0, .iwork = 1};
  const integer for_vectors = 1 + (complex_v<T> ? 5 : 6) * n + 2 * n * n;
  if constexpr (complex_v<T>) {
    if (vectors) return {.work = 2 * n + n * n, .rwork = for_vectors, .iwork = 3 + 5 * n};
    return {.work = n + 1, .rwork = n, .iwork = 1};
  }
  if (vectors) return {.work = for_vectors, .iwork = 3 + 5 * n};
  return {.work = 2 * n + 1, .iwork = 1};
}
template <class T>
lengths least_for_range(integer n) {
  n = std::max<integer>(n, 1);
  if constexpr (complex_v<T>) return {.work = 2 * n, .rwork = 24 * n, .iwork = 10 * n};
  return {.work = 26 * n, .iwork = 10 * n};
}

/// syev and syevd: two drivers, eigenvectors in a's place.
template <class T, class... Rest>
void heev(const char* name, const char* jobz, const char* uplo, const integer* n, T* a,
          const integer* lda, real_t<T>* w, T* work, const integer* lwork, integer* info,
          Rest... rest) {
  constexpr bool divides = sizeof...(Rest) > 1;
  const bool vectors = is(jobz, 'V');
  if (!is_one_of(jobz, "NV") || !is_one_of(uplo, "UL") || *n < 0 || !is_leading(*lda, *n) ||
      !given(lwork, rest...).hold(least<T>(divides, vectors, *n)))
    return call_real(name, jobz, uplo, n, a, lda, w, work, lwork, rest..., info, std::size_t{1},
                     std::size_t{1});
  call c(name);
  const block<T> m{a, *n, *n, *lda};
  const any_tensor matrix = c.in(m);
  const any_tensor values = c.out(dtype_of<real_t<T>>, *n);
  *info = c.ask(
      solver::eigh{.a = matrix,
                   .w = values,
                   .v = vectors ? matrix : any_tensor(),
                   .vectors = vectors,
                   .uplo = triangle(uplo),
                   .driver = divides ? eigen_driver::divide_and_conquer : eigen_driver::jacobi});
  if (*info != 0) return;
  c.give(values, w);
  if (vectors) c.give(matrix, m);
}

/// The eigenvalues that LAPACK is asked for.
template <class T>
struct interval {
  const char* range;
  const real_t<T>* vl;
  const real_t<T>* vu;
  const integer* il;
  const integer* iu;

  [[nodiscard]] bool by_values() const { return is(range, 'V'); }
  [[nodiscard]] bool by_indices() const { return is(range, 'I'); }
  [[nodiscard]] bool valid(integer n) const {
    if (by_values()) return n == 0 || *vl < *vu;
    if (!by_indices()) return is(range, 'A');
    return *il >= 1 && *il <= std::max<integer>(1, n) && *iu >= std::min(n, *il) && *iu <= n;
  }
  [[nodiscard]] integer room(integer n) const {
    return by_indices() ? std::max<integer>(*iu - *il + 1, 0) : n;
  }
};

/// Writes vectors to z, if there are any, and how many eigenvalues there are to m.
template <class T>
integer decompose(call& c, eigen_driver driver, const char* uplo, const block<T>& a,
                  const interval<T>& of, integer* m, real_t<T>* w, const block<T>* z) {
  const integer room = of.room(a.rows);
  solver::eigh r{.a = c.in(a),
                 .w = c.out(dtype_of<real_t<T>>, room),
                 .vectors = z != nullptr,
                 .uplo = triangle(uplo),
                 .driver = driver};
  if (z != nullptr) r.v = c.out(dtype_of<T>, a.rows, room);
  if (of.by_values() && a.rows > 0) {
    r.range = eigen_range::values;
    r.lower = static_cast<double>(*of.vl);
    r.upper = static_cast<double>(*of.vu);
    r.count = c.out(dtype::i64, 1).reshape({}).value();
  } else if (of.by_indices()) {
    r.range = eigen_range::indices;
    r.first = *of.il - 1;
  }
  const integer info = c.ask(r);
  if (info != 0) return info;
  *m = r.count.null() ? room : static_cast<integer>(c.elements<std::int64_t>(r.count).front());
  c.give(r.w.slice(0, 0, *m).value(), w);
  if (z != nullptr) c.give(r.v.slice(1, 0, *m).value(), block<T>{z->at, z->rows, *m, z->ld});
  return 0;
}

template <class T, class... Rest>
void heevr(const char* name, const char* jobz, const char* range, const char* uplo,
           const integer* n, T* a, const integer* lda, const real_t<T>* vl, const real_t<T>* vu,
           const integer* il, const integer* iu, const real_t<T>* abstol, integer* m, real_t<T>* w,
           T* z, const integer* ldz, integer* isuppz, T* work, const integer* lwork, integer* info,
           Rest... rest) {
  const bool vectors = is(jobz, 'V');
  const interval<T> of{range, vl, vu, il, iu};
  if (!is_one_of(jobz, "NV") || !is_one_of(uplo, "UL") || *n < 0 || !is_leading(*lda, *n) ||
      !of.valid(*n) || *ldz < 1 || (vectors && *ldz < *n) ||
      !given(lwork, rest...).hold(least_for_range<T>(*n)))
    return call_real(name, jobz, range, uplo, n, a, lda, vl, vu, il, iu, abstol, m, w, z, ldz,
                     isuppz, work, lwork, rest..., info, std::size_t{1}, std::size_t{1},
                     std::size_t{1});
  call c(name);
  const block<T> to{z, *n, *n, *ldz};
  *info = decompose(c, eigen_driver::automatic, uplo, block<T>{a, *n, *n, *lda}, of, m, w,
                    vectors ? &to : nullptr);
}

/// The same by the other driver. `rest`: a workspace of complex types.
template <class T, class... Rest>
void heevx(const char* name, const char* jobz, const char* range, const char* uplo,
           const integer* n, T* a, const integer* lda, const real_t<T>* vl, const real_t<T>* vu,
           const integer* il, const integer* iu, const real_t<T>* abstol, integer* m, real_t<T>* w,
           T* z, const integer* ldz, T* work, const integer* lwork, integer* iwork, integer* ifail,
           integer* info, Rest... rest) {
  const bool vectors = is(jobz, 'V');
  const interval<T> of{range, vl, vu, il, iu};
  const integer least_work = *n <= 1 ? 1 : (complex_v<T> ? 2 : 8) * *n;
  if (!is_one_of(jobz, "NV") || !is_one_of(uplo, "UL") || *n < 0 || !is_leading(*lda, *n) ||
      !of.valid(*n) || *ldz < 1 || (vectors && *ldz < *n) || *lwork < least_work)
    return call_real(name, jobz, range, uplo, n, a, lda, vl, vu, il, iu, abstol, m, w, z, ldz, work,
                     lwork, rest..., iwork, ifail, info, std::size_t{1}, std::size_t{1},
                     std::size_t{1});
  call c(name);
  const block<T> to{z, *n, *n, *ldz};
  *info = decompose(c, eigen_driver::jacobi, uplo, block<T>{a, *n, *n, *lda}, of, m, w,
                    vectors ? &to : nullptr);
  if (*info == 0 && vectors) std::fill(ifail, ifail + *m, 0);
}

/// sygv and sygvd. LAPACK leaves b's Cholesky factor: that is a request of its own.
template <class T, class... Rest>
void hegv(const char* name, const integer* itype, const char* jobz, const char* uplo,
          const integer* n, T* a, const integer* lda, T* b, const integer* ldb, real_t<T>* w,
          T* work, const integer* lwork, integer* info, Rest... rest) {
  const bool vectors = is(jobz, 'V');
  if (*itype < 1 || *itype > 3 || !is_one_of(jobz, "NV") || !is_one_of(uplo, "UL") || *n < 0 ||
      !is_leading(*lda, *n) || !is_leading(*ldb, *n) ||
      !given(lwork, rest...).hold(least<T>(sizeof...(Rest) > 1, vectors, *n)))
    return call_real(name, itype, jobz, uplo, n, a, lda, b, ldb, w, work, lwork, rest..., info,
                     std::size_t{1}, std::size_t{1});
  call c(name);
  const block<T> m{a, *n, *n, *lda};
  const block<T> other{b, *n, *n, *ldb};
  const any_tensor matrix = c.in(m);
  const any_tensor factor = c.in(other);
  const any_tensor values = c.out(dtype_of<real_t<T>>, *n);
  const solver::eigen_problem problems[] = {
      solver::eigen_problem::ax_lbx, solver::eigen_problem::abx_lx, solver::eigen_problem::bax_lx};
  *info = c.ask(solver::eigh_generalised{.a = matrix,
                                         .b = factor,
                                         .w = values,
                                         .v = vectors ? matrix : any_tensor(),
                                         .problem = problems[*itype - 1],
                                         .vectors = vectors,
                                         .uplo = triangle(uplo)});
  if (*info != 0) return;
  c.give(values, w);
  if (vectors) c.give(matrix, m);
  *info = c.ask(solver::potrf{.a = factor, .factor = factor, .uplo = triangle(uplo)});
  c.give(factor, other);
}

}  // namespace
}  // namespace troupe::lapack

using troupe::lapack::integer;

// NOLINTBEGIN(bugprone-macro-parentheses): a type cannot have any.
#define TROUPE_DEFINE(T, R, p, he, parameters, rest)                                              \
  TROUPE_FORTRAN p##he##ev_(const char* jobz, const char* uplo, const integer* n, T* a,           \
                            const integer* lda, R* w, T* work,                                    \
                            const integer* lwork TROUPE_LIST parameters, integer* info,           \
                            std::size_t, std::size_t) {                                           \
    troupe::lapack::heev(#p #he "ev_", jobz, uplo, n, a, lda, w, work, lwork,                     \
                         info TROUPE_LIST rest);                                                  \
  }                                                                                               \
  TROUPE_FORTRAN p##he##gv_(const integer* itype, const char* jobz, const char* uplo,             \
                            const integer* n, T* a, const integer* lda, T* b, const integer* ldb, \
                            R* w, T* work, const integer* lwork TROUPE_LIST parameters,           \
                            integer* info, std::size_t, std::size_t) {                            \
    troupe::lapack::hegv(#p #he "gv_", itype, jobz, uplo, n, a, lda, b, ldb, w, work, lwork,      \
                         info TROUPE_LIST rest);                                                  \
  }                                                                                               \
  TROUPE_FORTRAN p##he##evx_(                                                                     \
      const char* jobz, const char* range, const char* uplo, const integer* n, T* a,              \
      const integer* lda, const R* vl, const R* vu, const integer* il, const integer* iu,         \
      const R* abstol, integer* m, R* w, T* z, const integer* ldz, T* work,                       \
      const integer* lwork TROUPE_LIST parameters, integer* iwork, integer* ifail, integer* info, \
      std::size_t, std::size_t, std::size_t) {                                                    \
    troupe::lapack::heevx(#p #he "evx_", jobz, range, uplo, n, a, lda, vl, vu, il, iu, abstol, m, \
                          w, z, ldz, work, lwork, iwork, ifail, info TROUPE_LIST rest);           \
  }
TROUPE_DEFINE(float, float, s, sy, (), ())
TROUPE_DEFINE(double, double, d, sy, (), ())
TROUPE_DEFINE(std::complex<float>, float, c, he, (, float* rwork), (, rwork))
TROUPE_DEFINE(std::complex<double>, double, z, he, (, double* rwork), (, rwork))
#undef TROUPE_DEFINE

#define TROUPE_DEFINE(T, R, p, he, parameters, rest)                                               \
  TROUPE_FORTRAN p##he##evd_(const char* jobz, const char* uplo, const integer* n, T* a,           \
                             const integer* lda, R* w, T* work,                                    \
                             const integer* lwork TROUPE_LIST parameters, integer* iwork,          \
                             const integer* liwork, integer* info, std::size_t, std::size_t) {     \
    troupe::lapack::heev(#p #he "evd_", jobz, uplo, n, a, lda, w, work, lwork,                     \
                         info TROUPE_LIST rest, iwork, liwork);                                    \
  }                                                                                                \
  TROUPE_FORTRAN p##he##evr_(                                                                      \
      const char* jobz, const char* range, const char* uplo, const integer* n, T* a,               \
      const integer* lda, const R* vl, const R* vu, const integer* il, const integer* iu,          \
      const R* abstol, integer* m, R* w, T* z, const integer* ldz, integer* isuppz, T* work,       \
      const integer* lwork TROUPE_LIST parameters, integer* iwork, const integer* liwork,          \
      integer* info, std::size_t, std::size_t, std::size_t) {                                      \
    troupe::lapack::heevr(#p #he "evr_", jobz, range, uplo, n, a, lda, vl, vu, il, iu, abstol, m,  \
                          w, z, ldz, isuppz, work, lwork, info TROUPE_LIST rest, iwork, liwork);   \
  }                                                                                                \
  TROUPE_FORTRAN p##he##gvd_(const integer* itype, const char* jobz, const char* uplo,             \
                             const integer* n, T* a, const integer* lda, T* b, const integer* ldb, \
                             R* w, T* work, const integer* lwork TROUPE_LIST parameters,           \
                             integer* iwork, const integer* liwork, integer* info, std::size_t,    \
                             std::size_t) {                                                        \
    troupe::lapack::hegv(#p #he "gvd_", itype, jobz, uplo, n, a, lda, b, ldb, w, work, lwork,      \
                         info TROUPE_LIST rest, iwork, liwork);                                    \
  }
TROUPE_DEFINE(float, float, s, sy, (), ())
TROUPE_DEFINE(double, double, d, sy, (), ())
TROUPE_DEFINE(std::complex<float>, float, c, he, (, float* rwork, const integer* lrwork),
              (, rwork, lrwork))
TROUPE_DEFINE(std::complex<double>, double, z, he, (, double* rwork, const integer* lrwork),
              (, rwork, lrwork))
#undef TROUPE_DEFINE
// NOLINTEND(bugprone-macro-parentheses)
