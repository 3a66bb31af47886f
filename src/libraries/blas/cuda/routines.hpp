#pragma once

#include "libraries/blas/cuda/call.hpp"

namespace troupe::cuda {

/// The routines of levels 1 and 2 of one element type under their names without the type's letter,
/// so that an executor is written once for all types.
template <class T>
struct routines;

// clang-format off
#define TROUPE_CUBLAS_EVERY_TYPE(p)                                                              \
  TROUPE_CUBLAS(p, axpy);   TROUPE_CUBLAS(p, scal);   TROUPE_CUBLAS(p, copy);                     \
  TROUPE_CUBLAS(p, swap);   TROUPE_CUBLAS(p, gemv);   TROUPE_CUBLAS(p, trmv);                     \
  TROUPE_CUBLAS(p, trsv);   TROUPE_CUBLAS(p, symv);   TROUPE_CUBLAS(p, syr);                      \
  TROUPE_CUBLAS(p, syr2);   TROUPE_CUBLAS(p, gbmv);   TROUPE_CUBLAS(p, tbmv);                     \
  TROUPE_CUBLAS(p, tbsv);   TROUPE_CUBLAS(p, tpmv);   TROUPE_CUBLAS(p, tpsv)
#define TROUPE_CUBLAS_REAL(p)                                                                     \
  TROUPE_CUBLAS(p, dot);    TROUPE_CUBLAS(p, asum);   TROUPE_CUBLAS(p, ger);                      \
  TROUPE_CUBLAS(p, rotm);   TROUPE_CUBLAS(p, sbmv);                                               \
  TROUPE_CUBLAS(p, spmv);   TROUPE_CUBLAS(p, spr);    TROUPE_CUBLAS(p, spr2)
#define TROUPE_CUBLAS_COMPLEX(p)                                                                  \
  TROUPE_CUBLAS(p, dotu);   TROUPE_CUBLAS(p, dotc);   TROUPE_CUBLAS(p, geru);                     \
  TROUPE_CUBLAS(p, gerc);   TROUPE_CUBLAS(p, hemv);   TROUPE_CUBLAS(p, her);                      \
  TROUPE_CUBLAS(p, her2);   TROUPE_CUBLAS(p, hbmv);   TROUPE_CUBLAS(p, hpmv);                     \
  TROUPE_CUBLAS(p, hpr);    TROUPE_CUBLAS(p, hpr2)
// clang-format on

template <>
struct routines<float> {
  TROUPE_CUBLAS_EVERY_TYPE(S);
  TROUPE_CUBLAS_REAL(S);
  TROUPE_CUBLAS_AS(iamax, Is, amax);
  TROUPE_CUBLAS_AS(iamin, Is, amin);
};

template <>
struct routines<double> {
  TROUPE_CUBLAS_EVERY_TYPE(D);
  TROUPE_CUBLAS_REAL(D);
  TROUPE_CUBLAS_AS(iamax, Id, amax);
  TROUPE_CUBLAS_AS(iamin, Id, amin);
};

template <>
struct routines<c64> {
  TROUPE_CUBLAS_EVERY_TYPE(C);
  TROUPE_CUBLAS_COMPLEX(C);
  TROUPE_CUBLAS_AS(asum, Sc, asum);
  TROUPE_CUBLAS_AS(iamax, Ic, amax);
  TROUPE_CUBLAS_AS(iamin, Ic, amin);
};

template <>
struct routines<c128> {
  TROUPE_CUBLAS_EVERY_TYPE(Z);
  TROUPE_CUBLAS_COMPLEX(Z);
  TROUPE_CUBLAS_AS(asum, Dz, asum);
  TROUPE_CUBLAS_AS(iamax, Iz, amax);
  TROUPE_CUBLAS_AS(iamin, Iz, amin);
};

#undef TROUPE_CUBLAS_EVERY_TYPE
#undef TROUPE_CUBLAS_REAL
#undef TROUPE_CUBLAS_COMPLEX

}  // namespace troupe::cuda
