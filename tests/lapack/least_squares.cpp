#include "call.hpp"

#include <troupe/solver/least_squares.hpp>
#include <troupe/solver/svd.hpp>

#include <limits>

namespace troupe::lapack {
namespace {

/// The caller's matrix, or its adjoint.
template <class T>
any_tensor operand(call& c, const block<T>& a, bool adjoint) {
  if (!adjoint) return c.in(a);
  std::vector<T> conjugates;
  for (integer j = 0; j < a.columns; ++j) {
    for (integer i = 0; i < a.rows; ++i)
      conjugates.push_back(conjugate(a(i, j)));
  }
  return c.in(block<T>{conjugates.data(), a.rows, a.columns, a.rows}).transpose();
}

/// Unlike LAPACK's, the caller's matrix keeps its content, and the rows of b behind x theirs.
template <class T>
void gels(const char* name, const char* trans, const integer* m, const integer* n,
          const integer* nrhs, T* a, const integer* lda, T* b, const integer* ldb, T* work,
          const integer* lwork, integer* info) {
  const integer smaller = std::min(*m, *n);
  if (!is_one_of(trans, complex_v<T> ? "NC" : "NT") || smaller < 0 || *nrhs < 0 ||
      !is_leading(*lda, *m) || !is_leading(*ldb, std::max(*m, *n)) ||
      *lwork < std::max<integer>(1, smaller + std::max(smaller, *nrhs)))
    return call_real(name, trans, m, n, nrhs, a, lda, b, ldb, work, lwork, info, std::size_t{1});
  call c(name);
  const bool adjoint = !is(trans, 'N');
  const any_tensor x = c.out(dtype_of<T>, adjoint ? *m : *n, *nrhs);
  *info = c.ask(solver::gels{.a = operand(c, block<T>{a, *m, *n, *lda}, adjoint),
                             .b = c.in(block<T>{b, adjoint ? *n : *m, *nrhs, *ldb}),
                             .x = x});
  if (*info == 0) c.give(x, block<T>{b, adjoint ? *m : *n, *nrhs, *ldb});
}

/// Two requests, since `gels` keeps its singular values to itself.
template <class T>
void least_norm(call& c, const block<T>& a, const block<T>& b, real_t<T>* s, real_t<T> rcond,
                integer* rank, integer* info) {
  const any_tensor matrix = c.in(a);
  const any_tensor x = c.out(dtype_of<T>, a.columns, b.columns);
  const any_tensor values = c.out(dtype_of<real_t<T>>, std::min(a.rows, a.columns));
  const any_tensor left = c.out(dtype::i32, 1).reshape({}).value();
  constexpr double precision = std::numeric_limits<real_t<T>>::epsilon() / 2;
  *info = c.ask(solver::gels{.a = matrix,
                             .b = c.in(block<T>{b.at, a.rows, b.columns, b.ld}),
                             .x = x,
                             .rank = left,
                             .driver = solver::least_squares_driver::svd,
                             .rcond = rcond < 0 ? precision : static_cast<double>(rcond)});
  if (*info != 0) return;
  c.give(x, block<T>{b.at, a.columns, b.columns, b.ld});
  c.give(left, rank);
  *info = c.ask(solver::svd{.a = matrix, .s = values, .vectors = solver::singular_vectors::none});
  c.give(values, s);
}

/// gelsd and gelss, which take other workspaces: `rest`.
template <class T, class... Rest>
void gelsd(const char* name, const integer* m, const integer* n, const integer* nrhs, T* a,
           const integer* lda, T* b, const integer* ldb, real_t<T>* s, const real_t<T>* rcond,
           integer* rank, T* work, const integer* lwork, integer* info, Rest... rest) {
  if (*m < 0 || *n < 0 || *nrhs < 0 || !is_leading(*lda, *m) ||
      !is_leading(*ldb, std::max(*m, *n)) || *lwork < std::max<integer>(1, 2 * std::min(*m, *n)))
    return call_real(name, m, n, nrhs, a, lda, b, ldb, s, rcond, rank, work, lwork, rest..., info);
  call c(name);
  least_norm(c, block<T>{a, *m, *n, *lda}, block<T>{b, *m, *nrhs, *ldb}, s, *rcond, rank, info);
}

}  // namespace
}  // namespace troupe::lapack

using troupe::lapack::integer;

// NOLINTBEGIN(bugprone-macro-parentheses): a type cannot have any.
#define TROUPE_DEFINE(T, p)                                                                        \
  TROUPE_FORTRAN p##gels_(const char* trans, const integer* m, const integer* n,                   \
                          const integer* nrhs, T* a, const integer* lda, T* b, const integer* ldb, \
                          T* work, const integer* lwork, integer* info, std::size_t) {             \
    troupe::lapack::gels(#p "gels_", trans, m, n, nrhs, a, lda, b, ldb, work, lwork, info);        \
  }
TROUPE_LAPACK_ALL(TROUPE_DEFINE)
#undef TROUPE_DEFINE

#define TROUPE_DEFINE(T, R, p, routine, parameters, rest)                                          \
  TROUPE_FORTRAN p##routine##_(const integer* m, const integer* n, const integer* nrhs, T* a,      \
                               const integer* lda, T* b, const integer* ldb, R* s, const R* rcond, \
                               integer* rank, T* work,                                             \
                               const integer* lwork TROUPE_LIST parameters, integer* info) {       \
    troupe::lapack::gelsd(#p #routine "_", m, n, nrhs, a, lda, b, ldb, s, rcond, rank, work,       \
                          lwork, info TROUPE_LIST rest);                                           \
  }
TROUPE_DEFINE(float, float, s, gelsd, (, integer* iwork), (, iwork))
TROUPE_DEFINE(double, double, d, gelsd, (, integer* iwork), (, iwork))
TROUPE_DEFINE(std::complex<float>, float, c, gelsd, (, float* rwork, integer* iwork),
              (, rwork, iwork))
TROUPE_DEFINE(std::complex<double>, double, z, gelsd, (, double* rwork, integer* iwork),
              (, rwork, iwork))
TROUPE_DEFINE(float, float, s, gelss, (), ())
TROUPE_DEFINE(double, double, d, gelss, (), ())
TROUPE_DEFINE(std::complex<float>, float, c, gelss, (, float* rwork), (, rwork))
TROUPE_DEFINE(std::complex<double>, double, z, gelss, (, double* rwork), (, rwork))
#undef TROUPE_DEFINE
// NOLINTEND(bugprone-macro-parentheses)
