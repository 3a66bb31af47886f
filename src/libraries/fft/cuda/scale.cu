#include "backend/cuda/context/launch.cuh"
#include "base/try.hpp"
#include "libraries/fft/cuda/scale.hpp"
#include "libraries/memory/cuda/small_floats.cuh"
#include "libraries/memory/cuda/strided.cuh"

#include <cstddef>
#include <type_traits>

namespace troupe::cuda {
namespace {

/// A complex number with the alignment that tensors have.
template <class Real>
struct alignas(8) complex_number {
  Real real;
  Real imaginary;
};

// The type in which elements are multiplied.
template <class Element>
struct factor_of {
  using type = float;
};
template <>
struct factor_of<double> {
  using type = double;
};
template <>
struct factor_of<complex_number<double>> {
  using type = double;
};

template <class Element, class Factor>
__device__ __forceinline__ Element scaled(Element value, Factor factor) {
  if constexpr (std::is_same_v<Element, f16> || std::is_same_v<Element, bf16>) {
    return rounded<Element>(widened(value) * factor);
  } else if constexpr (std::is_floating_point_v<Element>) {
    return value * factor;
  } else {
    return {value.real * factor, value.imaginary * factor};
  }
}

template <class Element>
__global__ void __launch_bounds__(block_threads)
    scale_elements(const __grid_constant__ strided_map map, std::byte* to,
                   typename factor_of<Element>::type factor) {
  const thread_places places(map);
#pragma unroll
  for (int i = 0; i < thread_elements; ++i) {
    if (!places.stores[i]) continue;
    auto* const place = reinterpret_cast<Element*>(to + places.to[i]);
    *place = scaled(*place, factor);
  }
}

/// Calls `f` with a value of the type that the kernel uses for elements of `type`.
template <class F>
result<void> with_element(dtype type, F f) {
  switch (type) {
    case dtype::f64:
      return f(double{});
    case dtype::c64:
      return f(complex_number<float>{});
    case dtype::c128:
      return f(complex_number<double>{});
    case dtype::f16:
      return f(f16{});
    case dtype::bf16:
      return f(bf16{});
    default:
      return f(float{});
  }
}

}  // namespace

result<void> enqueue_scale(const any_tensor& t, double factor, cudaStream_t stream) {
  const elementwise::strided_loops loops(t, t);
  if (loops.empty) return {};
  const strided_map map(loops, false);
  return with_element(t.type(), [&]<class Element>(Element) {
    return launch(scale_elements<Element>, map.blocks(), block_threads, stream, map, t.address(),
                  static_cast<typename factor_of<Element>::type>(factor));
  });
}

result<void> load_scale_kernels() {
  for (const dtype type :
       {dtype::f32, dtype::f64, dtype::c64, dtype::c128, dtype::f16, dtype::bf16}) {
    TRY(with_element(type, []<class Element>(Element) { return load(scale_elements<Element>); }));
  }
  return {};
}

}  // namespace troupe::cuda
