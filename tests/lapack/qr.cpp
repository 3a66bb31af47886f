#include "call.hpp"

#include <troupe/solver/qr.hpp>

namespace troupe::lapack {
namespace {

template <class T>
void geqrf(const char* name, const integer* m, const integer* n, T* a, const integer* lda, T* tau,
           T* work, const integer* lwork, integer* info) {
  if (*m < 0 || *n < 0 || !is_leading(*lda, *m) || *lwork < std::max<integer>(1, *n))
    return call_real(name, m, n, a, lda, tau, work, lwork, info);
  call c(name);
  const block<T> all{a, *m, *n, *lda};
  const any_tensor qr = c.in(all);
  const any_tensor factors = c.out(dtype_of<T>, std::min(*m, *n));
  *info = c.ask(solver::geqrf{.a = qr, .qr = qr, .tau = factors});
  c.give(qr, all);
  c.give(factors, tau);
}

/// LAPACK's matrix has at least as many columns as there are reflectors, and any number at most m.
template <class T>
void ungqr(const char* name, const integer* m, const integer* n, const integer* k, T* a,
           const integer* lda, T* tau, T* work, const integer* lwork, integer* info) {
  if (*m < 0 || *n < 0 || *n > *m || *k < 0 || *k > *n || !is_leading(*lda, *m) ||
      *lwork < std::max<integer>(1, *n))
    return call_real(name, m, n, k, a, lda, tau, work, lwork, info);
  call c(name);
  const bool thin = *n == *k;
  const any_tensor q = c.out(dtype_of<T>, *m, thin ? *n : *m);
  *info = c.ask(solver::orgqr{.qr = c.in(block<T>{a, *m, *k, *lda}),
                              .tau = c.in(std::span<const T>(tau, static_cast<std::size_t>(*k))),
                              .q = q,
                              .basis = thin ? solver::basis::thin : solver::basis::full});
  c.give(q, block<T>{a, *m, *n, *lda});
}

template <class T>
void unmqr(const char* name, const char* side, const char* trans, const integer* m,
           const integer* n, const integer* k, T* a, const integer* lda, T* tau, T* x,
           const integer* ldc, T* work, const integer* lwork, integer* info) {
  const bool left = is(side, 'L');
  const integer order = left ? *m : *n;
  const integer least = std::max<integer>(1, left ? *n : *m);
  if (!is_one_of(side, "LR") || !is_one_of(trans, complex_v<T> ? "NC" : "NT") || *m < 0 || *n < 0 ||
      *k < 0 || *k > order || !is_leading(*lda, order) || !is_leading(*ldc, *m) || *lwork < least)
    return call_real(name, side, trans, m, n, k, a, lda, tau, x, ldc, work, lwork, info,
                     std::size_t{1}, std::size_t{1});
  call c(name);
  const block<T> all{x, *m, *n, *ldc};
  const any_tensor y = c.in(all);
  *info = c.ask(solver::ormqr{.qr = c.in(block<T>{a, order, *k, *lda}),
                              .tau = c.in(std::span<const T>(tau, static_cast<std::size_t>(*k))),
                              .x = y,
                              .y = y,
                              .side = left ? blas::side::left : blas::side::right,
                              .op_q = is(trans, 'N') ? blas::storage_op::none
                                      : complex_v<T> ? blas::storage_op::conjugate_transpose
                                                     : blas::storage_op::transpose});
  c.give(y, all);
}

}  // namespace
}  // namespace troupe::lapack

using troupe::lapack::integer;

// NOLINTBEGIN(bugprone-macro-parentheses): a type cannot have any.
#define TROUPE_DEFINE(T, p, un)                                                                    \
  TROUPE_FORTRAN p##geqrf_(const integer* m, const integer* n, T* a, const integer* lda, T* tau,   \
                           T* work, const integer* lwork, integer* info) {                         \
    troupe::lapack::geqrf(#p "geqrf_", m, n, a, lda, tau, work, lwork, info);                      \
  }                                                                                                \
  TROUPE_FORTRAN p##un##gqr_(const integer* m, const integer* n, const integer* k, T* a,           \
                             const integer* lda, T* tau, T* work, const integer* lwork,            \
                             integer* info) {                                                      \
    troupe::lapack::ungqr(#p #un "gqr_", m, n, k, a, lda, tau, work, lwork, info);                 \
  }                                                                                                \
  TROUPE_FORTRAN p##un##mqr_(const char* side, const char* trans, const integer* m,                \
                             const integer* n, const integer* k, T* a, const integer* lda, T* tau, \
                             T* c, const integer* ldc, T* work, const integer* lwork,              \
                             integer* info, std::size_t, std::size_t) {                            \
    troupe::lapack::unmqr(#p #un "mqr_", side, trans, m, n, k, a, lda, tau, c, ldc, work, lwork,   \
                          info);                                                                   \
  }
TROUPE_DEFINE(float, s, or)
TROUPE_DEFINE(double, d, or)
TROUPE_DEFINE(std::complex<float>, c, un)
TROUPE_DEFINE(std::complex<double>, z, un)
#undef TROUPE_DEFINE
// NOLINTEND(bugprone-macro-parentheses)
