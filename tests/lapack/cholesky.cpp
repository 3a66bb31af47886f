#include "call.hpp"

#include <troupe/solver/cholesky.hpp>
#include <troupe/solver/triangular.hpp>

namespace troupe::lapack {
namespace {

part same_part(const char* uplo) { return is(uplo, 'U') ? part::upper : part::lower; }

template <class T>
integer factor(call& c, const char* uplo, const block<T>& a) {
  const any_tensor matrix = c.in(a);
  const integer info = c.ask(solver::potrf{.a = matrix, .factor = matrix, .uplo = triangle(uplo)});
  c.give(matrix, a);
  return info;
}

template <class T>
void potrf(const char* name, const char* uplo, const integer* n, T* a, const integer* lda,
           integer* info) {
  if (!is_one_of(uplo, "UL") || *n < 0 || !is_leading(*lda, *n))
    return call_real(name, uplo, n, a, lda, info, std::size_t{1});
  call c(name);
  *info = factor(c, uplo, block<T>{a, *n, *n, *lda});
}

template <class T>
void potrs(const char* name, const char* uplo, const integer* n, const integer* nrhs, T* a,
           const integer* lda, T* b, const integer* ldb, integer* info) {
  if (!is_one_of(uplo, "UL") || *n < 0 || *nrhs < 0 || !is_leading(*lda, *n) ||
      !is_leading(*ldb, *n))
    return call_real(name, uplo, n, nrhs, a, lda, b, ldb, info, std::size_t{1});
  call c(name);
  const block<T> sides{b, *n, *nrhs, *ldb};
  const any_tensor x = c.in(sides);
  *info = c.ask(solver::potrs{
      .factor = c.in(block<T>{a, *n, *n, *lda}), .b = x, .x = x, .uplo = triangle(uplo)});
  c.give(x, sides);
}

/// The request writes both triangles, LAPACK one.
template <class T>
void potri(const char* name, const char* uplo, const integer* n, T* a, const integer* lda,
           integer* info) {
  if (!is_one_of(uplo, "UL") || *n < 0 || !is_leading(*lda, *n))
    return call_real(name, uplo, n, a, lda, info, std::size_t{1});
  call c(name);
  const block<T> m{a, *n, *n, *lda};
  const any_tensor inverse = c.in(m);
  *info = c.ask(solver::potri{.factor = inverse, .inverse = inverse, .uplo = triangle(uplo)});
  if (*info == 0) c.give(inverse, m, same_part(uplo));
}

/// Two requests, since `posv` keeps its factor to itself.
template <class T>
void posv(const char* name, const char* uplo, const integer* n, const integer* nrhs, T* a,
          const integer* lda, T* b, const integer* ldb, integer* info) {
  if (!is_one_of(uplo, "UL") || *n < 0 || *nrhs < 0 || !is_leading(*lda, *n) ||
      !is_leading(*ldb, *n))
    return call_real(name, uplo, n, nrhs, a, lda, b, ldb, info, std::size_t{1});
  call c(name);
  const block<T> m{a, *n, *n, *lda};
  const block<T> sides{b, *n, *nrhs, *ldb};
  const any_tensor x = c.out(dtype_of<T>, *n, *nrhs);
  *info = c.ask(solver::posv{.a = c.in(m), .b = c.in(sides), .x = x, .uplo = triangle(uplo)});
  if (*info == 0) c.give(x, sides);
  factor(c, uplo, m);
}

template <class T>
void trtri(const char* name, const char* uplo, const char* diag, const integer* n, T* a,
           const integer* lda, integer* info) {
  if (!is_one_of(uplo, "UL") || !is_one_of(diag, "NU") || *n < 0 || !is_leading(*lda, *n))
    return call_real(name, uplo, diag, n, a, lda, info, std::size_t{1}, std::size_t{1});
  call c(name);
  const block<T> m{a, *n, *n, *lda};
  const any_tensor inverse = c.in(m);
  *info = c.ask(solver::trtri{.a = inverse,
                              .inverse = inverse,
                              .uplo = triangle(uplo),
                              .diag = is(diag, 'U') ? blas::diag::unit : blas::diag::non_unit});
  if (*info == 0) c.give(inverse, m);
}

}  // namespace
}  // namespace troupe::lapack

using troupe::lapack::integer;

// NOLINTBEGIN(bugprone-macro-parentheses): a type cannot have any.
#define TROUPE_DEFINE(T, p)                                                               \
  TROUPE_FORTRAN p##potrf_(const char* uplo, const integer* n, T* a, const integer* lda,  \
                           integer* info, std::size_t) {                                  \
    troupe::lapack::potrf(#p "potrf_", uplo, n, a, lda, info);                            \
  }                                                                                       \
  TROUPE_FORTRAN p##potrs_(const char* uplo, const integer* n, const integer* nrhs, T* a, \
                           const integer* lda, T* b, const integer* ldb, integer* info,   \
                           std::size_t) {                                                 \
    troupe::lapack::potrs(#p "potrs_", uplo, n, nrhs, a, lda, b, ldb, info);              \
  }                                                                                       \
  TROUPE_FORTRAN p##potri_(const char* uplo, const integer* n, T* a, const integer* lda,  \
                           integer* info, std::size_t) {                                  \
    troupe::lapack::potri(#p "potri_", uplo, n, a, lda, info);                            \
  }                                                                                       \
  TROUPE_FORTRAN p##posv_(const char* uplo, const integer* n, const integer* nrhs, T* a,  \
                          const integer* lda, T* b, const integer* ldb, integer* info,    \
                          std::size_t) {                                                  \
    troupe::lapack::posv(#p "posv_", uplo, n, nrhs, a, lda, b, ldb, info);                \
  }                                                                                       \
  TROUPE_FORTRAN p##trtri_(const char* uplo, const char* diag, const integer* n, T* a,    \
                           const integer* lda, integer* info, std::size_t, std::size_t) { \
    troupe::lapack::trtri(#p "trtri_", uplo, diag, n, a, lda, info);                      \
  }
TROUPE_LAPACK_ALL(TROUPE_DEFINE)
#undef TROUPE_DEFINE
// NOLINTEND(bugprone-macro-parentheses)
