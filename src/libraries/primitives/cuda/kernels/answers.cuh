#pragma once

#include "libraries/primitives/cuda/kernels/numbers.cuh"

#include <troupe/tensor/scalar.hpp>

#include <bit>
#include <cstdint>

/// Replies that kernels write.
namespace troupe::cuda {

/// Converts a sum or product to the type of the reply.
[[nodiscard]] __device__ inline scalar number_of_sum(dtype, float sum) { return sum; }
[[nodiscard]] __device__ inline scalar number_of_sum(dtype, double sum) { return sum; }
[[nodiscard]] __device__ inline scalar number_of_sum(dtype of, std::uint64_t sum) {
  if (primitives::accumulator_of(of) == dtype::i64) return static_cast<std::int64_t>(sum);
  return sum;
}

/// Converts an element's bits to the type of the reply.
[[nodiscard]] __device__ inline scalar number_of(dtype type, std::uint64_t bits) {
  switch (type) {
    case dtype::f64:
      return std::bit_cast<double>(bits);
    case dtype::f32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case dtype::f16:
    case dtype::bf16:
    case dtype::e4m3:
    case dtype::e5m2:
      return widened_bits(type, static_cast<std::uint16_t>(bits));
    case dtype::i8:
      return static_cast<std::int64_t>(static_cast<std::int8_t>(bits));
    case dtype::i16:
      return static_cast<std::int64_t>(static_cast<std::int16_t>(bits));
    case dtype::i32:
      return static_cast<std::int64_t>(static_cast<std::int32_t>(bits));
    case dtype::i64:
      return static_cast<std::int64_t>(bits);
    default:
      return bits;
  }
}

}  // namespace troupe::cuda
