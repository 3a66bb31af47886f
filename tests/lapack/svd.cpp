#include "call.hpp"

#include <troupe/solver/svd.hpp>

namespace troupe::lapack {
namespace {

using solver::singular_vectors;
using solver::svd_driver;

/// LAPACK's place for vectors: a letter of jobu or jobvt, and the matrix for A and S.
template <class T>
struct wanted {
  char job;  ///< A all, S as many as values, O the same in a, N none
  block<T> to;
};

template <class T>
integer decompose(call& c, svd_driver driver, const block<T>& a, real_t<T>* s, const wanted<T>& u,
                  const wanted<T>& vh) {
  const integer k = std::min(a.rows, a.columns);
  const bool full = u.job == 'A' || vh.job == 'A';
  const bool none = u.job == 'N' && vh.job == 'N';
  solver::svd r{.a = c.in(a),
                .s = c.out(dtype_of<real_t<T>>, k),
                .vectors = none   ? singular_vectors::none
                           : full ? singular_vectors::full
                                  : singular_vectors::thin,
                .driver = driver};
  if (!none) {
    r.u = c.out(dtype_of<T>, a.rows, full ? a.rows : k);
    r.vh = c.out(dtype_of<T>, full ? a.columns : k, a.columns);
  }
  const integer info = c.ask(r);
  if (info != 0) return info;
  c.give(r.s, s);
  if (u.job == 'O') c.give(r.u, block<T>{a.at, a.rows, k, a.ld});
  if (u.job == 'A') c.give(r.u, block<T>{u.to.at, a.rows, a.rows, u.to.ld});
  if (u.job == 'S') c.give(r.u, block<T>{u.to.at, a.rows, k, u.to.ld});
  if (vh.job == 'O') c.give(r.vh, block<T>{a.at, k, a.columns, a.ld});
  if (vh.job == 'A') c.give(r.vh, block<T>{vh.to.at, a.columns, a.columns, vh.to.ld});
  if (vh.job == 'S') c.give(r.vh, block<T>{vh.to.at, k, a.columns, vh.to.ld});
  return 0;
}

char upper(const char* letter) { return static_cast<char>(*letter & ~0x20); }
/// Whether vectors as rows × columns have room.
bool has_room(char job, integer ld, integer rows) {
  return ld >= 1 && (job == 'O' || job == 'N' || ld >= rows);
}

template <class T, class... Rest>
void gesvd(const char* name, const char* jobu, const char* jobvt, const integer* m,
           const integer* n, T* a, const integer* lda, real_t<T>* s, T* u, const integer* ldu,
           T* vt, const integer* ldvt, T* work, const integer* lwork, integer* info, Rest... rest) {
  const integer k = std::min(*m, *n);
  if (!is_one_of(jobu, "ASON") || !is_one_of(jobvt, "ASON") || (is(jobu, 'O') && is(jobvt, 'O')) ||
      k < 0 || !is_leading(*lda, *m) || !has_room(upper(jobu), *ldu, *m) ||
      !has_room(upper(jobvt), *ldvt, is(jobvt, 'A') ? *n : k) || *lwork < 1)
    return call_real(name, jobu, jobvt, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork, rest...,
                     info, std::size_t{1}, std::size_t{1});
  call c(name);
  *info = decompose<T>(c, svd_driver::qr, {a, *m, *n, *lda}, s, {upper(jobu), {u, *m, *m, *ldu}},
                       {upper(jobvt), {vt, *n, *n, *ldvt}});
}

template <class T, class... Rest>
void gesdd(const char* name, const char* jobz, const integer* m, const integer* n, T* a,
           const integer* lda, real_t<T>* s, T* u, const integer* ldu, T* vt, const integer* ldvt,
           T* work, const integer* lwork, integer* info, Rest... rest) {
  const integer k = std::min(*m, *n);
  // O: one side goes to a, all vectors of the other to their place.
  const bool over = is(jobz, 'O');
  const char left = over ? (*m >= *n ? 'O' : 'A') : upper(jobz);
  const char right = over ? (*m >= *n ? 'A' : 'O') : upper(jobz);
  if (!is_one_of(jobz, "ASON") || k < 0 || !is_leading(*lda, *m) || !has_room(left, *ldu, *m) ||
      !has_room(right, *ldvt, right == 'A' ? *n : k) || *lwork < 1)
    return call_real(name, jobz, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork, rest..., info,
                     std::size_t{1});
  call c(name);
  *info = decompose<T>(c, svd_driver::automatic, {a, *m, *n, *lda}, s, {left, {u, *m, *m, *ldu}},
                       {right, {vt, *n, *n, *ldvt}});
}

/// One-sided Jacobi of a tall matrix: U takes the place of a, and V is wanted itself. `told` is the
/// workspace that says by what s is to be multiplied, and how many of it are not zero.
template <class T, class... Rest>
void gesvj(real_t<T>* told, const char* name, const char* joba, const char* jobu, const char* jobv,
           const integer* m, const integer* n, T* a, const integer* lda, real_t<T>* s,
           const integer* mv, T* v, const integer* ldv, T* work, const integer* lwork,
           integer* info, Rest... rest) {
  if (!is(joba, 'G') || !is(jobu, 'U') || !is(jobv, 'V') || *m < 0 || *n < 0 || *n > *m ||
      !is_leading(*lda, *m) || !is_leading(*ldv, *n) || *lwork < std::max<integer>(6, *m + *n))
    return call_real(name, joba, jobu, jobv, m, n, a, lda, s, mv, v, ldv, work, lwork, rest...,
                     info, std::size_t{1}, std::size_t{1}, std::size_t{1});
  call c(name);
  std::vector<T> vh(static_cast<std::size_t>(*n) * static_cast<std::size_t>(*n));
  const block<T> rows{vh.data(), *n, *n, std::max<integer>(*n, 1)};
  *info = decompose<T>(c, svd_driver::jacobi, {a, *m, *n, *lda}, s, {'O', {}}, {'S', rows});
  for (integer j = 0; j < *n; ++j) {
    for (integer i = 0; i < *n; ++i)
      block<T>{v, *n, *n, *ldv}(i, j) = conjugate(rows(j, i));
  }
  told[0] = 1;
  told[1] = static_cast<real_t<T>>(std::count_if(s, s + *n, [](real_t<T> one) { return one > 0; }));
}

}  // namespace
}  // namespace troupe::lapack

using troupe::lapack::integer;

// NOLINTBEGIN(bugprone-macro-parentheses): a type cannot have any.
#define TROUPE_DEFINE(T, R, p, parameters, rest)                                                  \
  TROUPE_FORTRAN p##gesvd_(                                                                       \
      const char* jobu, const char* jobvt, const integer* m, const integer* n, T* a,              \
      const integer* lda, R* s, T* u, const integer* ldu, T* vt, const integer* ldvt, T* work,    \
      const integer* lwork TROUPE_LIST parameters, integer* info, std::size_t, std::size_t) {     \
    troupe::lapack::gesvd(#p "gesvd_", jobu, jobvt, m, n, a, lda, s, u, ldu, vt, ldvt, work,      \
                          lwork, info TROUPE_LIST rest);                                          \
  }                                                                                               \
  TROUPE_FORTRAN p##gesdd_(                                                                       \
      const char* jobz, const integer* m, const integer* n, T* a, const integer* lda, R* s, T* u, \
      const integer* ldu, T* vt, const integer* ldvt, T* work,                                    \
      const integer* lwork TROUPE_LIST parameters, integer* iwork, integer* info, std::size_t) {  \
    troupe::lapack::gesdd(#p "gesdd_", jobz, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork,      \
                          info TROUPE_LIST rest, iwork);                                          \
  }
TROUPE_DEFINE(float, float, s, (), ())
TROUPE_DEFINE(double, double, d, (), ())
TROUPE_DEFINE(std::complex<float>, float, c, (, float* rwork), (, rwork))
TROUPE_DEFINE(std::complex<double>, double, z, (, double* rwork), (, rwork))
#undef TROUPE_DEFINE

#define TROUPE_DEFINE(T, R, p, told, parameters, rest)                                             \
  TROUPE_FORTRAN p##gesvj_(const char* joba, const char* jobu, const char* jobv, const integer* m, \
                           const integer* n, T* a, const integer* lda, R* s, const integer* mv,    \
                           T* v, const integer* ldv, T* work,                                      \
                           const integer* lwork TROUPE_LIST parameters, integer* info,             \
                           std::size_t, std::size_t, std::size_t) {                                \
    troupe::lapack::gesvj(told, #p "gesvj_", joba, jobu, jobv, m, n, a, lda, s, mv, v, ldv, work,  \
                          lwork, info TROUPE_LIST rest);                                           \
  }
TROUPE_DEFINE(float, float, s, work, (), ())
TROUPE_DEFINE(double, double, d, work, (), ())
TROUPE_DEFINE(std::complex<float>, float, c, rwork, (, float* rwork, const integer* lrwork),
              (, rwork, lrwork))
TROUPE_DEFINE(std::complex<double>, double, z, rwork, (, double* rwork, const integer* lrwork),
              (, rwork, lrwork))
#undef TROUPE_DEFINE
// NOLINTEND(bugprone-macro-parentheses)
