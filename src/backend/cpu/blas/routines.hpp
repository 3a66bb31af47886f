#pragma once

#include "backend/cpu/blas/openblas.hpp"

namespace troupe::cpu {

/// The CBLAS routines of one element type under their names without the type's letter, so that an
/// executor is written once for all types.
template <class T>
struct routines;

template <>
struct routines<float> {
  static constexpr auto gemm = cblas_sgemm;
};

template <>
struct routines<double> {
  static constexpr auto gemm = cblas_dgemm;
};

template <>
struct routines<c64> {
  static constexpr auto gemm = cblas_cgemm;
};

template <>
struct routines<c128> {
  static constexpr auto gemm = cblas_zgemm;
};

}  // namespace troupe::cpu
