#pragma once

#include "libraries/blas/openblas/openblas.hpp"

// OpenBLAS has these for complex types under Fortran names only: LAPACK's symmetric routines and
// its own extensions. Column-major; arguments by address.
extern "C" {
#define TROUPE_COMPLEX_SYMMETRIC(p)                                                                \
  void p##symv_(const char* uplo, const blasint* n, const void* alpha, const void* a,              \
                const blasint* lda, const void* x, const blasint* incx, const void* beta, void* y, \
                const blasint* incy);                                                              \
  void p##spmv_(const char* uplo, const blasint* n, const void* alpha, const void* ap,             \
                const void* x, const blasint* incx, const void* beta, void* y,                     \
                const blasint* incy);                                                              \
  void p##sbmv_(const char* uplo, const blasint* n, const blasint* k, const void* alpha,           \
                const void* ab, const blasint* ldab, const void* x, const blasint* incx,           \
                const void* beta, void* y, const blasint* incy);                                   \
  void p##syr_(const char* uplo, const blasint* n, const void* alpha, const void* x,               \
               const blasint* incx, void* a, const blasint* lda);                                  \
  void p##syr2_(const char* uplo, const blasint* n, const void* alpha, const void* x,              \
                const blasint* incx, const void* y, const blasint* incy, void* a,                  \
                const blasint* lda);
TROUPE_COMPLEX_SYMMETRIC(c)
TROUPE_COMPLEX_SYMMETRIC(z)
#undef TROUPE_COMPLEX_SYMMETRIC
}

namespace troupe::cpu {

/// The CBLAS routines of one element type under their names without the type's letter, so that an
/// executor is written once for all types.
template <class T>
struct routines;

template <>
struct routines<float> {
  static constexpr auto axpy = cblas_saxpy;
  static constexpr auto scal = cblas_sscal;
  static constexpr auto copy = cblas_scopy;
  static constexpr auto swap = cblas_sswap;
  static constexpr auto rotm = cblas_srotm;
  static constexpr auto dot = cblas_sdot;
  static constexpr auto nrm2 = cblas_snrm2;
  static constexpr auto asum = cblas_sasum;
  static constexpr auto gemv = cblas_sgemv;
  static constexpr auto ger = cblas_sger;
  static constexpr auto trmv = cblas_strmv;
  static constexpr auto trsv = cblas_strsv;
  static constexpr auto symv = cblas_ssymv;
  static constexpr auto syr = cblas_ssyr;
  static constexpr auto syr2 = cblas_ssyr2;
  static constexpr auto gbmv = cblas_sgbmv;
  static constexpr auto sbmv = cblas_ssbmv;
  static constexpr auto tbmv = cblas_stbmv;
  static constexpr auto tbsv = cblas_stbsv;
  static constexpr auto spmv = cblas_sspmv;
  static constexpr auto spr = cblas_sspr;
  static constexpr auto spr2 = cblas_sspr2;
  static constexpr auto tpmv = cblas_stpmv;
  static constexpr auto tpsv = cblas_stpsv;
  static constexpr auto gemm = cblas_sgemm;
  static constexpr auto symm = cblas_ssymm;
  static constexpr auto syrk = cblas_ssyrk;
  static constexpr auto syr2k = cblas_ssyr2k;
  static constexpr auto trmm = cblas_strmm;
  static constexpr auto trsm = cblas_strsm;
  static constexpr auto iamax = cblas_isamax;
};

template <>
struct routines<double> {
  static constexpr auto axpy = cblas_daxpy;
  static constexpr auto scal = cblas_dscal;
  static constexpr auto copy = cblas_dcopy;
  static constexpr auto swap = cblas_dswap;
  static constexpr auto rotm = cblas_drotm;
  static constexpr auto dot = cblas_ddot;
  static constexpr auto nrm2 = cblas_dnrm2;
  static constexpr auto asum = cblas_dasum;
  static constexpr auto gemv = cblas_dgemv;
  static constexpr auto ger = cblas_dger;
  static constexpr auto trmv = cblas_dtrmv;
  static constexpr auto trsv = cblas_dtrsv;
  static constexpr auto symv = cblas_dsymv;
  static constexpr auto syr = cblas_dsyr;
  static constexpr auto syr2 = cblas_dsyr2;
  static constexpr auto gbmv = cblas_dgbmv;
  static constexpr auto sbmv = cblas_dsbmv;
  static constexpr auto tbmv = cblas_dtbmv;
  static constexpr auto tbsv = cblas_dtbsv;
  static constexpr auto spmv = cblas_dspmv;
  static constexpr auto spr = cblas_dspr;
  static constexpr auto spr2 = cblas_dspr2;
  static constexpr auto tpmv = cblas_dtpmv;
  static constexpr auto tpsv = cblas_dtpsv;
  static constexpr auto gemm = cblas_dgemm;
  static constexpr auto symm = cblas_dsymm;
  static constexpr auto syrk = cblas_dsyrk;
  static constexpr auto syr2k = cblas_dsyr2k;
  static constexpr auto trmm = cblas_dtrmm;
  static constexpr auto trsm = cblas_dtrsm;
  static constexpr auto iamax = cblas_idamax;
};

template <>
struct routines<c64> {
  static constexpr auto axpy = cblas_caxpy;
  static constexpr auto scal = cblas_cscal;
  static constexpr auto copy = cblas_ccopy;
  static constexpr auto swap = cblas_cswap;
  static constexpr auto dotc_sub = cblas_cdotc_sub;
  static constexpr auto dotu_sub = cblas_cdotu_sub;
  static constexpr auto gemv = cblas_cgemv;
  static constexpr auto geru = cblas_cgeru;
  static constexpr auto gerc = cblas_cgerc;
  static constexpr auto trmv = cblas_ctrmv;
  static constexpr auto trsv = cblas_ctrsv;
  static constexpr auto hemv = cblas_chemv;
  static constexpr auto her = cblas_cher;
  static constexpr auto her2 = cblas_cher2;
  static constexpr auto gbmv = cblas_cgbmv;
  static constexpr auto hbmv = cblas_chbmv;
  static constexpr auto tbmv = cblas_ctbmv;
  static constexpr auto tbsv = cblas_ctbsv;
  static constexpr auto hpmv = cblas_chpmv;
  static constexpr auto hpr = cblas_chpr;
  static constexpr auto hpr2 = cblas_chpr2;
  static constexpr auto tpmv = cblas_ctpmv;
  static constexpr auto tpsv = cblas_ctpsv;
  static constexpr auto gemm = cblas_cgemm;
  static constexpr auto symm = cblas_csymm;
  static constexpr auto syrk = cblas_csyrk;
  static constexpr auto syr2k = cblas_csyr2k;
  static constexpr auto trmm = cblas_ctrmm;
  static constexpr auto trsm = cblas_ctrsm;
  static constexpr auto hemm = cblas_chemm;
  static constexpr auto herk = cblas_cherk;
  static constexpr auto her2k = cblas_cher2k;
  static constexpr auto nrm2 = cblas_scnrm2;
  static constexpr auto asum = cblas_scasum;
  static constexpr auto iamax = cblas_icamax;
  static constexpr auto symv = csymv_;
  static constexpr auto spmv = cspmv_;
  static constexpr auto sbmv = csbmv_;
  static constexpr auto syr = csyr_;
  static constexpr auto syr2 = csyr2_;
};

template <>
struct routines<c128> {
  static constexpr auto axpy = cblas_zaxpy;
  static constexpr auto scal = cblas_zscal;
  static constexpr auto copy = cblas_zcopy;
  static constexpr auto swap = cblas_zswap;
  static constexpr auto dotc_sub = cblas_zdotc_sub;
  static constexpr auto dotu_sub = cblas_zdotu_sub;
  static constexpr auto gemv = cblas_zgemv;
  static constexpr auto geru = cblas_zgeru;
  static constexpr auto gerc = cblas_zgerc;
  static constexpr auto trmv = cblas_ztrmv;
  static constexpr auto trsv = cblas_ztrsv;
  static constexpr auto hemv = cblas_zhemv;
  static constexpr auto her = cblas_zher;
  static constexpr auto her2 = cblas_zher2;
  static constexpr auto gbmv = cblas_zgbmv;
  static constexpr auto hbmv = cblas_zhbmv;
  static constexpr auto tbmv = cblas_ztbmv;
  static constexpr auto tbsv = cblas_ztbsv;
  static constexpr auto hpmv = cblas_zhpmv;
  static constexpr auto hpr = cblas_zhpr;
  static constexpr auto hpr2 = cblas_zhpr2;
  static constexpr auto tpmv = cblas_ztpmv;
  static constexpr auto tpsv = cblas_ztpsv;
  static constexpr auto gemm = cblas_zgemm;
  static constexpr auto symm = cblas_zsymm;
  static constexpr auto syrk = cblas_zsyrk;
  static constexpr auto syr2k = cblas_zsyr2k;
  static constexpr auto trmm = cblas_ztrmm;
  static constexpr auto trsm = cblas_ztrsm;
  static constexpr auto hemm = cblas_zhemm;
  static constexpr auto herk = cblas_zherk;
  static constexpr auto her2k = cblas_zher2k;
  static constexpr auto nrm2 = cblas_dznrm2;
  static constexpr auto asum = cblas_dzasum;
  static constexpr auto iamax = cblas_izamax;
  static constexpr auto symv = zsymv_;
  static constexpr auto spmv = zspmv_;
  static constexpr auto sbmv = zsbmv_;
  static constexpr auto syr = zsyr_;
  static constexpr auto syr2 = zsyr2_;
};

}  // namespace troupe::cpu
