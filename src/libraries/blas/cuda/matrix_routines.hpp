#pragma once

#include "libraries/blas/cuda/call.hpp"

namespace troupe::cuda {

/// The routines of level 3 and of batches of one element type under their names without the type's
/// letter. Products of general matrices are not among them: they have one entry point for all
/// types.
template <class T>
struct matrix_routines;

// clang-format off
#define TROUPE_CUBLAS_EVERY_TYPE(p)                                                               \
  TROUPE_CUBLAS(p, geam);   TROUPE_CUBLAS(p, dgmm);   TROUPE_CUBLAS(p, symm);                     \
  TROUPE_CUBLAS(p, syrk);   TROUPE_CUBLAS(p, syr2k);  TROUPE_CUBLAS(p, trmm);                     \
  TROUPE_CUBLAS(p, trsm);                                                                         \
  TROUPE_CUBLAS_AS(gemv_strided_batched, p, gemvStridedBatched);                                  \
  TROUPE_CUBLAS_AS(trsm_batched, p, trsmBatched);                                                 \
  /* These have no entry point of 64 bits. */                                                     \
  static constexpr routine getrf{&cublas##p##getrfBatched, "cublas" #p "getrfBatched"};           \
  static constexpr routine getrs{&cublas##p##getrsBatched, "cublas" #p "getrsBatched"};           \
  static constexpr routine getri{&cublas##p##getriBatched, "cublas" #p "getriBatched"};           \
  static constexpr routine geqrf{&cublas##p##geqrfBatched, "cublas" #p "geqrfBatched"}
#define TROUPE_CUBLAS_COMPLEX(p)                                                                  \
  TROUPE_CUBLAS(p, hemm);   TROUPE_CUBLAS(p, herk);   TROUPE_CUBLAS(p, her2k)
// clang-format on

template <>
struct matrix_routines<float> {
  TROUPE_CUBLAS_EVERY_TYPE(S);
};
template <>
struct matrix_routines<double> {
  TROUPE_CUBLAS_EVERY_TYPE(D);
};
template <>
struct matrix_routines<c64> {
  TROUPE_CUBLAS_EVERY_TYPE(C);
  TROUPE_CUBLAS_COMPLEX(C);
};
template <>
struct matrix_routines<c128> {
  TROUPE_CUBLAS_EVERY_TYPE(Z);
  TROUPE_CUBLAS_COMPLEX(Z);
};

#undef TROUPE_CUBLAS_EVERY_TYPE
#undef TROUPE_CUBLAS_COMPLEX

}  // namespace troupe::cuda
