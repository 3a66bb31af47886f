#include "call.hpp"

#include <troupe/solver/eigen.hpp>

#include <cmath>

namespace troupe::lapack {
namespace {

/// Turns a vector so that its largest element is real, as LAPACK does: eigenvectors are
/// eigenvectors in any phase.
template <class C>
void turn(std::span<C> v) {
  const auto largest = std::ranges::max_element(v, {}, [](const C& one) { return std::norm(one); });
  if (largest == v.end() || largest->imag() == 0) return;
  const C by = std::conj(*largest) / std::abs(*largest);
  for (C& one : v)
    one *= by;
  *largest = largest->real();
}

/// Writes eigenvectors in LAPACK's format. For a real matrix a pair of conjugate ones is two
/// columns, the real and the imaginary part of the first.
template <class T>
void write_vectors(std::vector<std::complex<real_t<T>>> from,
                   std::span<const std::complex<real_t<T>>> w, const block<T>& to) {
  const auto n = static_cast<std::size_t>(to.rows);
  for (integer j = 0; j < to.columns; ++j) {
    const auto column = std::span(from).subspan(static_cast<std::size_t>(j) * n, n);
    turn(column);
    if constexpr (complex_v<T>) {
      std::ranges::copy(column, &to(0, j));
    } else {
      const bool is_pair = w[static_cast<std::size_t>(j)].imag() != 0;
      for (integer i = 0; i < to.rows; ++i) {
        to(i, j) = column[static_cast<std::size_t>(i)].real();
        if (is_pair) to(i, j + 1) = column[static_cast<std::size_t>(i)].imag();
      }
      if (is_pair) ++j;
    }
  }
}

/// LAPACK's arguments: vectors, by a letter for each side, and their places.
template <class T>
struct places {
  const char* jobvl;
  const char* jobvr;
  block<T> vl;
  block<T> vr;

  [[nodiscard]] bool valid() const {
    return is_one_of(jobvl, "NV") && is_one_of(jobvr, "NV") && vl.ld >= 1 && vr.ld >= 1 &&
           (!left() || vl.ld >= vl.rows) && (!right() || vr.ld >= vr.rows);
  }
  [[nodiscard]] bool left() const { return is(jobvl, 'V'); }
  [[nodiscard]] bool right() const { return is(jobvr, 'V'); }
};

template <class T, class C = std::complex<real_t<T>>>
std::vector<C> decompose(const char* name, const block<T>& a, const places<T>& to, integer* info) {
  call c(name);
  solver::eig r{
      .a = c.in(a), .w = c.out(dtype_of<C>, a.rows), .right = to.right(), .left = to.left()};
  if (r.left) r.vl = c.out(dtype_of<C>, a.rows, a.rows);
  if (r.right) r.vr = c.out(dtype_of<C>, a.rows, a.rows);
  *info = c.ask(r);
  std::vector<C> w = c.elements<C>(r.w);
  if (*info != 0) return w;
  if (r.left) write_vectors<T>(c.elements<C>(r.vl.transpose()), w, to.vl);
  if (r.right) write_vectors<T>(c.elements<C>(r.vr.transpose()), w, to.vr);
  return w;
}

template <class R>
void geev(const char* name, const char* jobvl, const char* jobvr, const integer* n, R* a,
          const integer* lda, R* wr, R* wi, R* vl, const integer* ldvl, R* vr, const integer* ldvr,
          R* work, const integer* lwork, integer* info) {
  const places<R> to{jobvl, jobvr, {vl, *n, *n, *ldvl}, {vr, *n, *n, *ldvr}};
  if (!to.valid() || *n < 0 || !is_leading(*lda, *n) ||
      *lwork < std::max<integer>(1, (to.left() || to.right() ? 4 : 3) * *n))
    return call_real(name, jobvl, jobvr, n, a, lda, wr, wi, vl, ldvl, vr, ldvr, work, lwork, info,
                     std::size_t{1}, std::size_t{1});
  for (const std::complex<R>& one : decompose(name, block<R>{a, *n, *n, *lda}, to, info)) {
    *wr++ = one.real();
    *wi++ = one.imag();
  }
}

template <class R, class T = std::complex<R>>
void geev(const char* name, const char* jobvl, const char* jobvr, const integer* n, T* a,
          const integer* lda, T* w, T* vl, const integer* ldvl, T* vr, const integer* ldvr, T* work,
          const integer* lwork, R* rwork, integer* info) {
  const places<T> to{jobvl, jobvr, {vl, *n, *n, *ldvl}, {vr, *n, *n, *ldvr}};
  if (!to.valid() || *n < 0 || !is_leading(*lda, *n) || *lwork < std::max<integer>(1, 2 * *n))
    return call_real(name, jobvl, jobvr, n, a, lda, w, vl, ldvl, vr, ldvr, work, lwork, rwork, info,
                     std::size_t{1}, std::size_t{1});
  std::ranges::copy(decompose(name, block<T>{a, *n, *n, *lda}, to, info), w);
}

}  // namespace
}  // namespace troupe::lapack

using troupe::lapack::integer;

// NOLINTBEGIN(bugprone-macro-parentheses): a type cannot have any.
#define TROUPE_DEFINE(R, p)                                                                     \
  TROUPE_FORTRAN p##geev_(const char* jobvl, const char* jobvr, const integer* n, R* a,         \
                          const integer* lda, R* wr, R* wi, R* vl, const integer* ldvl, R* vr,  \
                          const integer* ldvr, R* work, const integer* lwork, integer* info,    \
                          std::size_t, std::size_t) {                                           \
    troupe::lapack::geev(#p "geev_", jobvl, jobvr, n, a, lda, wr, wi, vl, ldvl, vr, ldvr, work, \
                         lwork, info);                                                          \
  }
TROUPE_DEFINE(float, s)
TROUPE_DEFINE(double, d)
#undef TROUPE_DEFINE

#define TROUPE_DEFINE(R, p)                                                                       \
  TROUPE_FORTRAN p##geev_(const char* jobvl, const char* jobvr, const integer* n,                 \
                          std::complex<R>* a, const integer* lda, std::complex<R>* w,             \
                          std::complex<R>* vl, const integer* ldvl, std::complex<R>* vr,          \
                          const integer* ldvr, std::complex<R>* work, const integer* lwork,       \
                          R* rwork, integer* info, std::size_t, std::size_t) {                    \
    troupe::lapack::geev(#p "geev_", jobvl, jobvr, n, a, lda, w, vl, ldvl, vr, ldvr, work, lwork, \
                         rwork, info);                                                            \
  }
TROUPE_DEFINE(float, c)
TROUPE_DEFINE(double, z)
#undef TROUPE_DEFINE
// NOLINTEND(bugprone-macro-parentheses)
