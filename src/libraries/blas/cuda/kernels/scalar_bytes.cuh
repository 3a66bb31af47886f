#pragma once

#include "libraries/blas/cuda/kernels/arithmetic.cuh"

#include <troupe/tensor/scalar.hpp>

#include <bit>
#include <complex>
#include <cstdint>

namespace troupe::cuda {

/// The bytes of a `scalar`, whose members are its own.
struct scalar_bytes {
  std::uint64_t kind;  // a byte and its padding, which is zero
  std::int64_t integer;
  double real;
  double imaginary;
};
inline constexpr auto real_kind = static_cast<std::uint64_t>(scalar::kind::real);
inline constexpr auto complex_kind = static_cast<std::uint64_t>(scalar::kind::complex);
static_assert(std::bit_cast<scalar_bytes>(scalar(1.5)).kind == real_kind);
static_assert(std::bit_cast<scalar_bytes>(scalar(1.5)).real == 1.5);
static_assert(std::bit_cast<scalar_bytes>(scalar(std::complex<double>(0, 2.5))).kind ==
              complex_kind);
static_assert(std::bit_cast<scalar_bytes>(scalar(std::complex<double>(0, 2.5))).imaginary == 2.5);

__device__ inline void store(scalar_bytes* to, double value) { *to = {real_kind, 0, value, 0}; }
template <class R>
__device__ inline void store(scalar_bytes* to, complex_value<R> value) {
  *to = {complex_kind, 0, value.re, value.im};
}

}  // namespace troupe::cuda
