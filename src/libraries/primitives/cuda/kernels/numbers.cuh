#pragma once

#include "libraries/memory/cuda/small_floats.cuh"
#include "libraries/primitives/requests/accumulators.hpp"
#include "libraries/primitives/shared/key_order.hpp"

#include <troupe/tensor/tensor.hpp>

#include <concepts>
#include <cstdint>

/// Converts elements of any type to their accumulator, so that kernels are compiled once per
/// accumulator: float, double, and std::uint64_t for integers and ranks.
namespace troupe::cuda {

[[nodiscard]] __host__ __device__ constexpr bool is_signed_integer(dtype type) {
  return type == dtype::i8 || type == dtype::i16 || type == dtype::i32 || type == dtype::i64;
}

/// Widens the bits of a float of up to 16 bits.
[[nodiscard]] __device__ __forceinline__ float widened_bits(dtype type, std::uint16_t bits) {
  switch (type) {
    case dtype::f16:
      return widened(std::bit_cast<f16>(bits));
    case dtype::bf16:
      return widened(std::bit_cast<bf16>(bits));
    case dtype::e4m3:
      return widened(std::bit_cast<e4m3>(static_cast<std::uint8_t>(bits)));
    default:
      return widened(std::bit_cast<e5m2>(static_cast<std::uint8_t>(bits)));
  }
}

/// Extends the bits of an integer or boolean to 64.
template <std::unsigned_integral Bits>
[[nodiscard]] __device__ __forceinline__ std::uint64_t extended_bits(dtype type, Bits bits) {
  if (type == dtype::boolean) return bits != 0 ? 1 : 0;
  if (!is_signed_integer(type)) return bits;
  return static_cast<std::uint64_t>(
      static_cast<std::int64_t>(static_cast<std::make_signed_t<Bits>>(bits)));
}

[[nodiscard]] __device__ __forceinline__ std::uint64_t load_bits(const std::byte* at, int bytes) {
  switch (bytes) {
    case 1:
      return *reinterpret_cast<const std::uint8_t*>(at);
    case 2:
      return *reinterpret_cast<const std::uint16_t*>(at);
    case 4:
      return *reinterpret_cast<const std::uint32_t*>(at);
    default:
      return *reinterpret_cast<const std::uint64_t*>(at);
  }
}
__device__ __forceinline__ void store_bits(std::byte* at, int bytes, std::uint64_t bits) {
  switch (bytes) {
    case 1:
      *reinterpret_cast<std::uint8_t*>(at) = static_cast<std::uint8_t>(bits);
      break;
    case 2:
      *reinterpret_cast<std::uint16_t*>(at) = static_cast<std::uint16_t>(bits);
      break;
    case 4:
      *reinterpret_cast<std::uint32_t*>(at) = static_cast<std::uint32_t>(bits);
      break;
    default:
      *reinterpret_cast<std::uint64_t*>(at) = bits;
      break;
  }
}

/// The position and type of a vector's elements.
struct vector_place {
  std::byte* first;
  std::int64_t step;  ///< in bytes
  dtype type;
  int bytes;

  explicit vector_place(const any_tensor& of)
      : first(of.address()),
        step(of.stride(0) * size_of(of.type())),
        type(of.type()),
        bytes(static_cast<int>(size_of(of.type()))) {}
  [[nodiscard]] __device__ std::byte* at(std::int64_t i) const { return first + i * step; }
  /// The same from another element on.
  __device__ void move(std::int64_t elements) { first += elements * bytes; }
};

/// Reads elements as accumulators: floats as they are, integers as 64 bits, or as ranks for minima
/// and maxima.
template <class Accumulator>
class number_source;

template <>
class number_source<float> {
 public:
  using value_type = float;
  number_source(const any_tensor& of, primitives::combination) : place_(of) {}
  [[nodiscard]] __device__ float operator()(std::int64_t i) const {
    const std::byte* at = place_.at(i);
    if (place_.bytes == 4) return *reinterpret_cast<const float*>(at);
    return widened_bits(place_.type, static_cast<std::uint16_t>(load_bits(at, place_.bytes)));
  }
  __device__ void move(std::int64_t elements) { place_.move(elements); }

 private:
  vector_place place_;
};

template <>
class number_source<double> {
 public:
  using value_type = double;
  number_source(const any_tensor& of, primitives::combination) : place_(of) {}
  [[nodiscard]] __device__ double operator()(std::int64_t i) const {
    return *reinterpret_cast<const double*>(place_.at(i));
  }
  __device__ void move(std::int64_t elements) { place_.move(elements); }

 private:
  vector_place place_;
};

template <>
class number_source<std::uint64_t> {
 public:
  using value_type = std::uint64_t;
  number_source(const any_tensor& of, primitives::combination op)
      : place_(of),
        order_(of.type(), op == primitives::combination::minimum),
        ranks_(primitives::is_selection(op)) {}
  [[nodiscard]] __device__ std::uint64_t operator()(std::int64_t i) const {
    const std::uint64_t bits = load_bits(place_.at(i), place_.bytes);
    if (ranks_) return order_.rank_of(bits);
    switch (place_.bytes) {
      case 1:
        return extended_bits(place_.type, static_cast<std::uint8_t>(bits));
      case 2:
        return extended_bits(place_.type, static_cast<std::uint16_t>(bits));
      case 4:
        return extended_bits(place_.type, static_cast<std::uint32_t>(bits));
      default:
        return bits;
    }
  }
  __device__ void move(std::int64_t elements) { place_.move(elements); }

 private:
  vector_place place_;
  primitives::extreme_order<std::uint64_t> order_;
  bool ranks_;
};

/// Writes accumulators as elements of a type that can hold them.
template <class Accumulator>
class number_sink;

template <>
class number_sink<float> {
 public:
  using value_type = float;
  number_sink(const any_tensor& to, dtype, primitives::combination) : place_(to) {}
  __device__ void store(std::int64_t i, float value) const {
    std::byte* at = place_.at(i);
    switch (place_.type) {
      case dtype::f16:
        *reinterpret_cast<f16*>(at) = rounded<f16>(value);
        break;
      case dtype::bf16:
        *reinterpret_cast<bf16*>(at) = rounded<bf16>(value);
        break;
      case dtype::e4m3:
        *reinterpret_cast<e4m3*>(at) = rounded<e4m3>(value);
        break;
      case dtype::e5m2:
        *reinterpret_cast<e5m2*>(at) = rounded<e5m2>(value);
        break;
      default:
        *reinterpret_cast<float*>(at) = value;
        break;
    }
  }
  __device__ void move(std::int64_t elements) { place_.move(elements); }

 private:
  vector_place place_;
};

template <>
class number_sink<double> {
 public:
  using value_type = double;
  number_sink(const any_tensor& to, dtype, primitives::combination) : place_(to) {}
  __device__ void store(std::int64_t i, double value) const {
    *reinterpret_cast<double*>(place_.at(i)) = value;
  }
  __device__ void move(std::int64_t elements) { place_.move(elements); }

 private:
  vector_place place_;
};

template <>
class number_sink<std::uint64_t> {
 public:
  using value_type = std::uint64_t;
  /// The combined elements have the type `of`.
  number_sink(const any_tensor& to, dtype of, primitives::combination op)
      : place_(to),
        order_(of, op == primitives::combination::minimum),
        ranks_(primitives::is_selection(op)) {}
  __device__ void store(std::int64_t i, std::uint64_t value) const {
    store_bits(place_.at(i), place_.bytes, ranks_ ? order_.bits_of(value) : value);
  }
  __device__ void move(std::int64_t elements) { place_.move(elements); }

 private:
  vector_place place_;
  primitives::extreme_order<std::uint64_t> order_;
  bool ranks_;
};

/// Calls `f` with a value of the accumulator for elements of `type` that are combined by `op`.
template <class F>
auto with_accumulator(dtype type, primitives::combination op, F f) {
  if (primitives::is_selection(op) || !is_float(type)) return f(std::uint64_t{});
  return type == dtype::f64 ? f(double{}) : f(float{});
}

}  // namespace troupe::cuda
