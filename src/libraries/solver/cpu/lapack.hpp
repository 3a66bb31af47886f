#pragma once

#include "libraries/blas/openblas/lapack.hpp"

#include <cstddef>
#include <type_traits>

// The rest of LAPACK that the solver calls; getrf, getrs, getri and geqrf are with blas. A length
// of 1 follows the arguments for each character among them.
extern "C" {
#define TROUPE_LAPACK(p)                                                                           \
  void p##potrf_(const char* uplo, const blasint* n, void* a, const blasint* lda, blasint* info,   \
                 std::size_t);                                                                     \
  void p##potri_(const char* uplo, const blasint* n, void* a, const blasint* lda, blasint* info,   \
                 std::size_t);                                                                     \
  void p##trtri_(const char* uplo, const char* diag, const blasint* n, void* a,                    \
                 const blasint* lda, blasint* info, std::size_t, std::size_t);                     \
  void p##gels_(const char* trans, const blasint* m, const blasint* n, const blasint* nrhs,        \
                void* a, const blasint* lda, void* b, const blasint* ldb, void* work,              \
                const blasint* lwork, blasint* info, std::size_t);                                 \
  void p##sytrf_(const char* uplo, const blasint* n, void* a, const blasint* lda, blasint* pivots, \
                 void* work, const blasint* lwork, blasint* info, std::size_t);                    \
  void p##sytrs_(const char* uplo, const blasint* n, const blasint* nrhs, const void* a,           \
                 const blasint* lda, const blasint* pivots, void* b, const blasint* ldb,           \
                 blasint* info, std::size_t);
TROUPE_LAPACK(s)
TROUPE_LAPACK(d)
TROUPE_LAPACK(c)
TROUPE_LAPACK(z)
#undef TROUPE_LAPACK
#define TROUPE_LAPACK(p)                                                                          \
  void p##gbsv_(const blasint* n, const blasint* kl, const blasint* ku, const blasint* nrhs,      \
                void* ab, const blasint* ldab, blasint* pivots, void* b, const blasint* ldb,      \
                blasint* info);                                                                   \
  void p##pbtrf_(const char* uplo, const blasint* n, const blasint* k, void* ab,                  \
                 const blasint* ldab, blasint* info, std::size_t);                                \
  void p##pbtrs_(const char* uplo, const blasint* n, const blasint* k, const blasint* nrhs,       \
                 const void* ab, const blasint* ldab, void* b, const blasint* ldb, blasint* info, \
                 std::size_t);
TROUPE_LAPACK(s)
TROUPE_LAPACK(d)
TROUPE_LAPACK(c)
TROUPE_LAPACK(z)
#undef TROUPE_LAPACK

#define TROUPE_LAPACK(p)                                                                           \
  void p##hetrf_(const char* uplo, const blasint* n, void* a, const blasint* lda, blasint* pivots, \
                 void* work, const blasint* lwork, blasint* info, std::size_t);                    \
  void p##hetrs_(const char* uplo, const blasint* n, const blasint* nrhs, const void* a,           \
                 const blasint* lda, const blasint* pivots, void* b, const blasint* ldb,           \
                 blasint* info, std::size_t);
TROUPE_LAPACK(c)
TROUPE_LAPACK(z)
#undef TROUPE_LAPACK

// Complex types take one more workspace, of real numbers; their names differ.
#define TROUPE_LAPACK(p, un, he, ...)                                                             \
  void p##un##gqr_(const blasint* m, const blasint* n, const blasint* k, void* a,                 \
                   const blasint* lda, const void* tau, void* work, const blasint* lwork,         \
                   blasint* info);                                                                \
  void p##un##mqr_(const char* side, const char* trans, const blasint* m, const blasint* n,       \
                   const blasint* k, const void* a, const blasint* lda, const void* tau, void* c, \
                   const blasint* ldc, void* work, const blasint* lwork, blasint* info,           \
                   std::size_t, std::size_t);                                                     \
  void p##gesdd_(const char* jobz, const blasint* m, const blasint* n, void* a,                   \
                 const blasint* lda, void* s, void* u, const blasint* ldu, void* vt,              \
                 const blasint* ldvt, void* work, const blasint* lwork,                           \
                 __VA_ARGS__ blasint* iwork, blasint* info, std::size_t);                         \
  void p##gelsd_(const blasint* m, const blasint* n, const blasint* nrhs, void* a,                \
                 const blasint* lda, void* b, const blasint* ldb, void* s, const void* rcond,     \
                 blasint* rank, void* work, const blasint* lwork, __VA_ARGS__ blasint* iwork,     \
                 blasint* info);
#define TROUPE_REAL_WORK void *rwork,
TROUPE_LAPACK(s, or, sy)
TROUPE_LAPACK(d, or, sy)
TROUPE_LAPACK(c, un, he, TROUPE_REAL_WORK)
TROUPE_LAPACK(z, un, he, TROUPE_REAL_WORK)
#undef TROUPE_LAPACK

#define TROUPE_LAPACK(p, ...)                                                                      \
  void p##geqp3_(const blasint* m, const blasint* n, void* a, const blasint* lda,                  \
                 blasint* columns, void* tau, void* work, const blasint* lwork,                    \
                 __VA_ARGS__ blasint* info);                                                       \
  void p##gesvd_(const char* jobu, const char* jobvt, const blasint* m, const blasint* n, void* a, \
                 const blasint* lda, void* s, void* u, const blasint* ldu, void* vt,               \
                 const blasint* ldvt, void* work, const blasint* lwork, __VA_ARGS__ blasint* info, \
                 std::size_t, std::size_t);
TROUPE_LAPACK(s)
TROUPE_LAPACK(d)
TROUPE_LAPACK(c, TROUPE_REAL_WORK)
TROUPE_LAPACK(z, TROUPE_REAL_WORK)
#undef TROUPE_LAPACK
#undef TROUPE_REAL_WORK

// Likewise, with the length of that workspace.
#define TROUPE_LAPACK(p, he, ...)                                                                  \
  void p##gejsv_(const char* joba, const char* jobu, const char* jobv, const char* jobr,           \
                 const char* jobt, const char* jobp, const blasint* m, const blasint* n, void* a,  \
                 const blasint* lda, void* sva, void* u, const blasint* ldu, void* v,              \
                 const blasint* ldv, void* work, const blasint* lwork, __VA_ARGS__ blasint* iwork, \
                 blasint* info, std::size_t, std::size_t, std::size_t, std::size_t, std::size_t,   \
                 std::size_t);                                                                     \
  void p##he##evd_(const char* jobz, const char* uplo, const blasint* n, void* a,                  \
                   const blasint* lda, void* w, void* work, const blasint* lwork,                  \
                   __VA_ARGS__ blasint* iwork, const blasint* liwork, blasint* info, std::size_t,  \
                   std::size_t);                                                                   \
  void p##he##evr_(const char* jobz, const char* range, const char* uplo, const blasint* n,        \
                   void* a, const blasint* lda, const void* vl, const void* vu, const blasint* il, \
                   const blasint* iu, const void* abstol, blasint* m, void* w, void* z,            \
                   const blasint* ldz, blasint* isuppz, void* work, const blasint* lwork,          \
                   __VA_ARGS__ blasint* iwork, const blasint* liwork, blasint* info, std::size_t,  \
                   std::size_t, std::size_t);                                                      \
  void p##he##gvd_(const blasint* itype, const char* jobz, const char* uplo, const blasint* n,     \
                   void* a, const blasint* lda, void* b, const blasint* ldb, void* w, void* work,  \
                   const blasint* lwork, __VA_ARGS__ blasint* iwork, const blasint* liwork,        \
                   blasint* info, std::size_t, std::size_t);
#define TROUPE_REAL_WORK void *rwork, const blasint *lrwork,
TROUPE_LAPACK(s, sy)
TROUPE_LAPACK(d, sy)
TROUPE_LAPACK(c, he, TROUPE_REAL_WORK)
TROUPE_LAPACK(z, he, TROUPE_REAL_WORK)
#undef TROUPE_LAPACK
#undef TROUPE_REAL_WORK

#define TROUPE_LAPACK(p)                                                                           \
  void p##ggev_(const char* jobvl, const char* jobvr, const blasint* n, void* a,                   \
                const blasint* lda, void* b, const blasint* ldb, void* alphar, void* alphai,       \
                void* beta, void* vl, const blasint* ldvl, void* vr, const blasint* ldvr,          \
                void* work, const blasint* lwork, blasint* info, std::size_t, std::size_t);        \
  void p##geev_(const char* jobvl, const char* jobvr, const blasint* n, void* a,                   \
                const blasint* lda, void* wr, void* wi, void* vl, const blasint* ldvl, void* vr,   \
                const blasint* ldvr, void* work, const blasint* lwork, blasint* info, std::size_t, \
                std::size_t);
TROUPE_LAPACK(s)
TROUPE_LAPACK(d)
#undef TROUPE_LAPACK
#define TROUPE_LAPACK(p)                                                                           \
  void p##ggev_(const char* jobvl, const char* jobvr, const blasint* n, void* a,                   \
                const blasint* lda, void* b, const blasint* ldb, void* alpha, void* beta,          \
                void* vl, const blasint* ldvl, void* vr, const blasint* ldvr, void* work,          \
                const blasint* lwork, void* rwork, blasint* info, std::size_t, std::size_t);       \
  void p##geev_(const char* jobvl, const char* jobvr, const blasint* n, void* a,                   \
                const blasint* lda, void* w, void* vl, const blasint* ldvl, void* vr,              \
                const blasint* ldvr, void* work, const blasint* lwork, void* rwork, blasint* info, \
                std::size_t, std::size_t);
TROUPE_LAPACK(c)
TROUPE_LAPACK(z)
#undef TROUPE_LAPACK
}

namespace troupe::cpu {

/// The solver's routines of one element type. `un` and `he` of a real type are `or` and `sy`.
template <class T>
struct solver_lapack;

#define TROUPE_LAPACK(T, p, un, he)            \
  template <>                                  \
  struct solver_lapack<T> : lapack<T> {        \
    static constexpr auto potrf = p##potrf_;   \
    static constexpr auto potri = p##potri_;   \
    static constexpr auto trtri = p##trtri_;   \
    static constexpr auto gels = p##gels_;     \
    static constexpr auto gbsv = p##gbsv_;     \
    static constexpr auto pbtrf = p##pbtrf_;   \
    static constexpr auto pbtrs = p##pbtrs_;   \
    static constexpr auto geqp3 = p##geqp3_;   \
    static constexpr auto sytrf = p##sytrf_;   \
    static constexpr auto sytrs = p##sytrs_;   \
    static constexpr auto hetrf = p##he##trf_; \
    static constexpr auto hetrs = p##he##trs_; \
    static constexpr auto ggev = p##ggev_;     \
    static constexpr auto ungqr = p##un##gqr_; \
    static constexpr auto unmqr = p##un##mqr_; \
    static constexpr auto gesdd = p##gesdd_;   \
    static constexpr auto gesvd = p##gesvd_;   \
    static constexpr auto gelsd = p##gelsd_;   \
    static constexpr auto gejsv = p##gejsv_;   \
    static constexpr auto heevd = p##he##evd_; \
    static constexpr auto heevr = p##he##evr_; \
    static constexpr auto hegvd = p##he##gvd_; \
    static constexpr auto geev = p##geev_;     \
  };
TROUPE_LAPACK(float, s, or, sy)
TROUPE_LAPACK(double, d, or, sy)
TROUPE_LAPACK(c64, c, un, he)
TROUPE_LAPACK(c128, z, un, he)
#undef TROUPE_LAPACK

[[nodiscard]] inline char letter(blas::uplo u) noexcept {
  return u == blas::uplo::upper ? 'U' : 'L';
}
[[nodiscard]] inline blas::uplo other(blas::uplo u) noexcept {
  return u == blas::uplo::upper ? blas::uplo::lower : blas::uplo::upper;
}

/// The size of workspace that a query answered. One in f32 was rounded to 24 bits, so a little is
/// added.
template <class T>
[[nodiscard]] std::int64_t enough(T answer) noexcept {
  const std::int64_t elements = queried(answer);
  return elements + (std::is_same_v<real_t<T>, float> ? elements / (1 << 22) : 0) + 1;
}

}  // namespace troupe::cpu
