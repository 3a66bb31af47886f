#include "backend/cuda/context/launch.cuh"
#include "base/try.hpp"
#include "libraries/memory/cuda/kernels.hpp"
#include "libraries/memory/cuda/small_floats.cuh"
#include "libraries/memory/cuda/strided.cuh"

#include <complex>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>

// One kernel per carrier rather than per pair of types: it looks up both types once per thread, and
// all threads take the same branch.
namespace troupe::cuda {
namespace {

using elementwise::carrier_of;

/// Calls `f` with a value of the C++ type of `type`.
template <class... Types>
struct type_list {
  template <class F>
  static __device__ __forceinline__ void choose(dtype type, F f) {
    (void)((type == dtype_of<Types> && (f(Types{}), true)) || ...);
  }
};
using every_type =
    type_list<double, float, f16, bf16, e4m3, e5m2, std::complex<float>, std::complex<double>,
              std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t,
              std::int64_t, std::uint64_t, bool>;

/// The type that is loaded and stored at once. c128 is aligned to 8 bytes only.
template <std::size_t Bytes>
struct vector_of;
// clang-format off
template <> struct vector_of<1> { using type = std::uint8_t; };
template <> struct vector_of<2> { using type = std::uint16_t; };
template <> struct vector_of<4> { using type = std::uint32_t; };
template <> struct vector_of<8> { using type = uint2; };
template <> struct vector_of<16> { using type = uint4; };
// clang-format on

/// The type of an element in memory. A bool is a byte, which may hold more than 0 and 1.
template <class Type>
using stored_of = std::conditional_t<std::same_as<Type, bool>, std::uint8_t, Type>;

template <class From>
__device__ __forceinline__ carrier_of<From> carrier_from(stored_of<From> stored) {
  if constexpr (std::same_as<From, bool>) {
    return stored != 0;
  } else {
    return carried(stored);
  }
}

template <class Carrier>
__global__ void __launch_bounds__(block_threads)
    convert_elements(const __grid_constant__ strided_map map, dtype from_type,
                     const std::byte* __restrict__ from, dtype to_type,
                     std::byte* __restrict__ to) {
  const thread_places places(map);
  Carrier values[thread_elements];
  every_type::choose(from_type, [&]<class From>(From) {
    if constexpr (std::same_as<carrier_of<From>, Carrier>) {
      stored_of<From> loaded[thread_elements];
#pragma unroll
      for (int i = 0; i < thread_elements; ++i) {
        if (places.loads[i]) {
          loaded[i] = *reinterpret_cast<const stored_of<From>*>(from + places.from[i]);
        }
      }
#pragma unroll
      for (int i = 0; i < thread_elements; ++i)
        values[i] = carrier_from<From>(loaded[i]);
    }
  });
  if (map.tiled) turn_tile(values, places.tile);
  every_type::choose(to_type, [&]<class To>(To) {
#pragma unroll
    for (int i = 0; i < thread_elements; ++i) {
      if (places.stores[i]) {
        *reinterpret_cast<To*>(to + places.to[i]) = element_of_carrier<To>(values[i]);
      }
    }
  });
}

/// Moves `Elements` at once, and `thread_elements` such vectors per thread.
template <class Carrier, int Elements>
__global__ void __launch_bounds__(block_threads)
    convert_vectors(std::int64_t vectors, dtype from_type, const std::byte* __restrict__ from,
                    dtype to_type, std::byte* __restrict__ to) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * block_elements + threadIdx.x;
  Carrier values[thread_elements][Elements];
  every_type::choose(from_type, [&]<class From>(From) {
    constexpr std::size_t bytes = sizeof(From) * Elements;
    if constexpr (std::same_as<carrier_of<From>, Carrier> && bytes <= 16) {
      using vector = typename vector_of<bytes>::type;
      vector loaded[thread_elements];
#pragma unroll
      for (int i = 0; i < thread_elements; ++i) {
        const std::int64_t index = first + i * block_threads;
        if (index < vectors) loaded[i] = reinterpret_cast<const vector*>(from)[index];
      }
#pragma unroll
      for (int i = 0; i < thread_elements; ++i) {
        stored_of<From> elements[Elements];
        std::memcpy(elements, &loaded[i], bytes);
#pragma unroll
        for (int e = 0; e < Elements; ++e)
          values[i][e] = carrier_from<From>(elements[e]);
      }
    }
  });
  every_type::choose(to_type, [&]<class To>(To) {
    constexpr std::size_t bytes = sizeof(To) * Elements;
    if constexpr (bytes <= 16) {
      using vector = typename vector_of<bytes>::type;
#pragma unroll
      for (int i = 0; i < thread_elements; ++i) {
        const std::int64_t index = first + i * block_threads;
        stored_of<To> elements[Elements];
#pragma unroll
        for (int e = 0; e < Elements; ++e)
          elements[e] = element_of_carrier<To>(values[i][e]);
        vector stored;
        std::memcpy(&stored, elements, bytes);
        if (index < vectors) reinterpret_cast<vector*>(to)[index] = stored;
      }
    }
  });
}

/// True for the carriers of types of up to 4 bytes.
template <class Carrier>
constexpr bool carries_short = std::same_as<Carrier, float> || std::same_as<Carrier, std::int64_t>;

/// Calls `f` with a value of the carrier of `type`.
template <class F>
result<void> with_carrier(dtype type, F f) {
  switch (type) {
    case dtype::f64:
      return f(double{});
    case dtype::c64:
      return f(std::complex<float>{});
    case dtype::c128:
      return f(std::complex<double>{});
    case dtype::u64:
      return f(std::uint64_t{});
    default:
      return is_float(type) ? f(float{}) : f(std::int64_t{});
  }
}

}  // namespace

result<void> enqueue_convert(const strided_map& map, dtype from_type, const std::byte* from,
                             dtype to_type, std::byte* to, cudaStream_t stream) {
  return with_carrier(from_type, [&]<class Carrier>(Carrier) {
    return launch(convert_elements<Carrier>, map.blocks(), block_threads, stream, map, from_type,
                  from, to_type, to);
  });
}

result<void> enqueue_packed_convert(std::int64_t count, dtype from_type, const std::byte* from,
                                    dtype to_type, std::byte* to, cudaStream_t stream) {
  const int at_once = packed_elements(from_type, to_type);
  const std::int64_t vectors = count / at_once;
  const std::int64_t blocks = (vectors - 1) / block_elements + 1;
  return with_carrier(from_type, [&]<class Carrier>(Carrier) -> result<void> {
    const auto enqueue = [&](auto kernel) {
      return launch(kernel, blocks, block_threads, stream, vectors, from_type, from, to_type, to);
    };
    if constexpr (carries_short<Carrier>) {
      if (at_once == 4) return enqueue(convert_vectors<Carrier, 4>);
    }
    if constexpr (sizeof(Carrier) <= 8) {
      if (at_once == 2) return enqueue(convert_vectors<Carrier, 2>);
    }
    return error{.code = errc::unsupported, .message = "no vectors of these types"};
  });
}

result<void> load_convert_kernels() {
  for (const dtype one :
       {dtype::f32, dtype::f64, dtype::c64, dtype::c128, dtype::i64, dtype::u64}) {
    TRY(with_carrier(one, []<class Carrier>(Carrier) -> result<void> {
      TRY(load(convert_elements<Carrier>));
      if constexpr (carries_short<Carrier>) {
        TRY(load(convert_vectors<Carrier, 4>));
      }
      if constexpr (sizeof(Carrier) <= 8) return load(convert_vectors<Carrier, 2>);
      return {};
    }));
  }
  return {};
}

}  // namespace troupe::cuda
