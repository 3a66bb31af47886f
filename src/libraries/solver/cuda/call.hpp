#pragma once

#include "libraries/blas/cuda/call.hpp"
#include "libraries/solver/cuda/cusolver.hpp"

#include <cstdint>
#include <string_view>

/// Calls of cuSOLVER functions that exist per element type and take 32-bit sizes.
namespace troupe::cuda {

/// Casts lists that a routine does not write, although its signature is not const.
[[nodiscard]] inline cuComplex** as_argument(c64** v) noexcept {
  return reinterpret_cast<cuComplex**>(v);
}
[[nodiscard]] inline cuDoubleComplex** as_argument(c128** v) noexcept {
  return reinterpret_cast<cuDoubleComplex**>(v);
}

/// A function of cuSOLVER and its name. Calling it calls the function and converts its status.
template <class... Parameters>
struct solver_routine {
  cusolverStatus_t (*function)(cusolverDnHandle_t, Parameters...);
  std::string_view name;

  template <class... Arguments>
  [[nodiscard]] result<void> operator()(const cusolver_lane& on, Arguments... arguments) const {
    return check(function(on.handle, as_argument(arguments)...), name, on.stream);
  }
};
template <class... Parameters>
solver_routine(cusolverStatus_t (*)(cusolverDnHandle_t, Parameters...), const char*)
    -> solver_routine<Parameters...>;

/// The routines of one element type under their names for real types, without the type's letter.
template <class T>
struct solver_routines;

// clang-format off
#define TROUPE_CUSOLVER(member, function) \
  static constexpr solver_routine member{&cusolverDn##function, "cusolverDn" #function}
#define TROUPE_CUSOLVER_SIZED(member, function)                    \
  TROUPE_CUSOLVER(member##_size, function##_bufferSize);           \
  TROUPE_CUSOLVER(member, function)
// The type's letter, and the type's names of symmetric routines, orgqr and ormqr.
#define TROUPE_CUSOLVER_TYPE(p, sy, org, orm)                            \
  TROUPE_CUSOLVER_SIZED(potri, p##potri);                          \
  TROUPE_CUSOLVER_SIZED(sytrf, p##sytrf);                          \
  TROUPE_CUSOLVER_SIZED(orgqr, p##org##qr);                        \
  TROUPE_CUSOLVER_SIZED(ormqr, p##orm##qr);                        \
  TROUPE_CUSOLVER_SIZED(sygvd, p##sy##gvd);                        \
  TROUPE_CUSOLVER_SIZED(syevj, p##sy##evj);                        \
  TROUPE_CUSOLVER_SIZED(gesvdj, p##gesvdj);                        \
  TROUPE_CUSOLVER_SIZED(gesvdj_batched, p##gesvdjBatched);         \
  TROUPE_CUSOLVER(potrf_batched, p##potrfBatched)
// clang-format on

template <>
struct solver_routines<float> {
  TROUPE_CUSOLVER_TYPE(S, sy, org, orm);
};
template <>
struct solver_routines<double> {
  TROUPE_CUSOLVER_TYPE(D, sy, org, orm);
  TROUPE_CUSOLVER_SIZED(refined, DSgesv);
};
template <>
struct solver_routines<c64> {
  TROUPE_CUSOLVER_TYPE(C, he, ung, unm);
};
template <>
struct solver_routines<c128> {
  TROUPE_CUSOLVER_TYPE(Z, he, ung, unm);
  TROUPE_CUSOLVER_SIZED(refined, ZCgesv);
};

#undef TROUPE_CUSOLVER
#undef TROUPE_CUSOLVER_SIZED
#undef TROUPE_CUSOLVER_TYPE

/// Narrows extents and leading dimensions. They fit: the request's extents are checked, and leading
/// dimensions follow from the layout of the matrices.
[[nodiscard]] constexpr int narrow(std::int64_t value) noexcept { return static_cast<int>(value); }

[[nodiscard]] constexpr cudaDataType as_cuda(dtype type) noexcept {
  switch (type) {
    case dtype::f64:
      return CUDA_R_64F;
    case dtype::c64:
      return CUDA_C_32F;
    case dtype::c128:
      return CUDA_C_64F;
    default:
      return CUDA_R_32F;
  }
}
/// The type of the real parts of elements.
[[nodiscard]] constexpr dtype real_of(dtype type) noexcept {
  if (type == dtype::c64) return dtype::f32;
  return type == dtype::c128 ? dtype::f64 : type;
}
[[nodiscard]] constexpr cublasFillMode_t fill_mode(bool upper) noexcept {
  return upper ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
}

}  // namespace troupe::cuda
