#include "call.hpp"

#include <troupe/solver/lu.hpp>
#include <troupe/solver/refined.hpp>

namespace troupe::lapack {
namespace {

/// Factors in place, as LAPACK does; answers INFO.
template <class T>
integer factor(call& c, const block<T>& a, integer* pivots) {
  const any_tensor matrix = c.in(a);
  const any_tensor places = c.out(dtype::i64, std::min(a.rows, a.columns));
  const integer info = c.ask(solver::getrf{.a = matrix, .lu = matrix, .pivots = places});
  c.give(matrix, a);
  std::ranges::transform(c.elements<std::int64_t>(places), pivots,
                         [](std::int64_t place) { return static_cast<integer>(place); });
  return info;
}

template <class T>
void getrf(const char* name, const integer* m, const integer* n, T* a, const integer* lda,
           integer* pivots, integer* info) {
  if (*m < 0 || *n < 0 || !is_leading(*lda, *m)) return call_real(name, m, n, a, lda, pivots, info);
  call c(name);
  *info = factor(c, block<T>{a, *m, *n, *lda}, pivots);
}

any_tensor places_of(call& c, const integer* pivots, integer n) {
  const std::vector<std::int64_t> wide(pivots, pivots + n);
  return c.in(std::span(wide));
}

template <class T>
void getrs(const char* name, const char* trans, const integer* n, const integer* nrhs, T* lu,
           const integer* lda, const integer* pivots, T* b, const integer* ldb, integer* info) {
  if (!is_one_of(trans, "NTC") || *n < 0 || *nrhs < 0 || !is_leading(*lda, *n) ||
      !is_leading(*ldb, *n))
    return call_real(name, trans, n, nrhs, lu, lda, pivots, b, ldb, info, std::size_t{1});
  call c(name);
  const block<T> sides{b, *n, *nrhs, *ldb};
  const any_tensor x = c.in(sides);
  *info = c.ask(solver::getrs{.lu = c.in(block<T>{lu, *n, *n, *lda}),
                              .pivots = places_of(c, pivots, *n),
                              .b = x,
                              .x = x,
                              .op_a = is(trans, 'N')   ? blas::storage_op::none
                                      : is(trans, 'T') ? blas::storage_op::transpose
                                                       : blas::storage_op::conjugate_transpose});
  c.give(x, sides);
}

template <class T>
void getri(const char* name, const integer* n, T* lu, const integer* lda, const integer* pivots,
           T* work, const integer* lwork, integer* info) {
  if (*n < 0 || !is_leading(*lda, *n) || *lwork < std::max<integer>(1, *n))
    return call_real(name, n, lu, lda, pivots, work, lwork, info);
  call c(name);
  const block<T> m{lu, *n, *n, *lda};
  const any_tensor inverse = c.in(m);
  *info =
      c.ask(solver::getri{.lu = inverse, .pivots = places_of(c, pivots, *n), .inverse = inverse});
  if (*info == 0) c.give(inverse, m);
}

/// Two requests, since `gesv` keeps its factors to itself.
template <class T>
void gesv(const char* name, const integer* n, const integer* nrhs, T* a, const integer* lda,
          integer* pivots, T* b, const integer* ldb, integer* info) {
  if (*n < 0 || *nrhs < 0 || !is_leading(*lda, *n) || !is_leading(*ldb, *n))
    return call_real(name, n, nrhs, a, lda, pivots, b, ldb, info);
  call c(name);
  const block<T> m{a, *n, *n, *lda};
  const block<T> sides{b, *n, *nrhs, *ldb};
  const any_tensor x = c.out(dtype_of<T>, *n, *nrhs);
  *info = c.ask(solver::gesv{.a = c.in(m), .b = c.in(sides), .x = x});
  if (*info == 0) c.give(x, sides);
  factor(c, m, pivots);
}

/// Unlike LAPACK's, the caller's matrix keeps its content whatever became of it, and the pivots
/// theirs. `rest`: a workspace of complex types.
template <class T, class S, class... Rest>
void gesv_refined(const char* name, const integer* n, const integer* nrhs, T* a, const integer* lda,
                  integer* pivots, T* b, const integer* ldb, T* x, const integer* ldx, T* work,
                  S* swork, integer* iterations, integer* info, Rest... rest) {
  if (*n < 0 || *nrhs < 0 || !is_leading(*lda, *n) || !is_leading(*ldb, *n) ||
      !is_leading(*ldx, *n))
    return call_real(name, n, nrhs, a, lda, pivots, b, ldb, x, ldx, work, swork, rest...,
                     iterations, info);
  call c(name);
  const any_tensor solution = c.out(dtype_of<T>, *n, *nrhs);
  const any_tensor steps = c.out(dtype::i32, 1).reshape({}).value();
  *info = c.ask(solver::gesv_refined{.a = c.in(block<T>{a, *n, *n, *lda}),
                                     .b = c.in(block<T>{b, *n, *nrhs, *ldb}),
                                     .x = solution,
                                     .iterations = steps});
  c.give(steps, iterations);
  if (*info == 0) c.give(solution, block<T>{x, *n, *nrhs, *ldx});
}

}  // namespace
}  // namespace troupe::lapack

using troupe::lapack::integer;

// NOLINTBEGIN(bugprone-macro-parentheses): a type cannot have any.
#define TROUPE_DEFINE(T, p)                                                                     \
  TROUPE_FORTRAN p##getrf_(const integer* m, const integer* n, T* a, const integer* lda,        \
                           integer* pivots, integer* info) {                                    \
    troupe::lapack::getrf(#p "getrf_", m, n, a, lda, pivots, info);                             \
  }                                                                                             \
  TROUPE_FORTRAN p##getrs_(const char* trans, const integer* n, const integer* nrhs, T* lu,     \
                           const integer* lda, const integer* pivots, T* b, const integer* ldb, \
                           integer* info, std::size_t) {                                        \
    troupe::lapack::getrs(#p "getrs_", trans, n, nrhs, lu, lda, pivots, b, ldb, info);          \
  }                                                                                             \
  TROUPE_FORTRAN p##getri_(const integer* n, T* lu, const integer* lda, const integer* pivots,  \
                           T* work, const integer* lwork, integer* info) {                      \
    troupe::lapack::getri(#p "getri_", n, lu, lda, pivots, work, lwork, info);                  \
  }                                                                                             \
  TROUPE_FORTRAN p##gesv_(const integer* n, const integer* nrhs, T* a, const integer* lda,      \
                          integer* pivots, T* b, const integer* ldb, integer* info) {           \
    troupe::lapack::gesv(#p "gesv_", n, nrhs, a, lda, pivots, b, ldb, info);                    \
  }
TROUPE_LAPACK_ALL(TROUPE_DEFINE)
#undef TROUPE_DEFINE

#define TROUPE_DEFINE(T, S, ps, parameters, rest)                                               \
  TROUPE_FORTRAN ps##gesv_(const integer* n, const integer* nrhs, T* a, const integer* lda,     \
                           integer* pivots, T* b, const integer* ldb, T* x, const integer* ldx, \
                           T* work, S* swork TROUPE_LIST parameters, integer* iterations,       \
                           integer* info) {                                                     \
    troupe::lapack::gesv_refined(#ps "gesv_", n, nrhs, a, lda, pivots, b, ldb, x, ldx, work,    \
                                 swork, iterations, info TROUPE_LIST rest);                     \
  }
TROUPE_DEFINE(double, float, ds, (), ())
TROUPE_DEFINE(std::complex<double>, std::complex<float>, zc, (, double* rwork), (, rwork))
#undef TROUPE_DEFINE
// NOLINTEND(bugprone-macro-parentheses)
