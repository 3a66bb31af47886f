#pragma once

#include "libraries/blas/openblas/openblas.hpp"

// The LAPACK inside OpenBLAS, by its Fortran symbols: 64-bit integers, arguments by address. Only
// what executors call is declared; lapacke.h would bring all of LAPACK and C's complex types.
extern "C" {
#define TROUPE_LAPACK(p)                                                                           \
  void p##getrf_(const blasint* m, const blasint* n, void* a, const blasint* lda, blasint* pivots, \
                 blasint* info);                                                                   \
  void p##getrs_(const char* trans, const blasint* n, const blasint* nrhs, const void* a,          \
                 const blasint* lda, const blasint* pivots, void* b, const blasint* ldb,           \
                 blasint* info, std::size_t trans_length);                                         \
  void p##getri_(const blasint* n, void* a, const blasint* lda, const blasint* pivots, void* work, \
                 const blasint* lwork, blasint* info);                                             \
  void p##geqrf_(const blasint* m, const blasint* n, void* a, const blasint* lda, void* tau,       \
                 void* work, const blasint* lwork, blasint* info);
TROUPE_LAPACK(s)
TROUPE_LAPACK(d)
TROUPE_LAPACK(c)
TROUPE_LAPACK(z)
#undef TROUPE_LAPACK
}

namespace troupe::cpu {

/// LAPACK's routines of one element type, without the type's letter.
template <class T>
struct lapack;

#define TROUPE_LAPACK(T, p)                  \
  template <>                                \
  struct lapack<T> {                         \
    static constexpr auto getrf = p##getrf_; \
    static constexpr auto getrs = p##getrs_; \
    static constexpr auto getri = p##getri_; \
    static constexpr auto geqrf = p##geqrf_; \
  };
TROUPE_LAPACK(float, s)
TROUPE_LAPACK(double, d)
TROUPE_LAPACK(c64, c)
TROUPE_LAPACK(c128, z)
#undef TROUPE_LAPACK

/// The size of workspace that a query (lwork = −1) answers in the first element of work.
template <class T>
[[nodiscard]] std::int64_t queried(T answer) noexcept {
  if constexpr (complex_v<T>) {
    return static_cast<std::int64_t>(answer.real());
  } else {
    return static_cast<std::int64_t>(answer);
  }
}

}  // namespace troupe::cpu
