#include "libraries/primitives/cuda/kernels/elements.cuh"
#include "libraries/primitives/cuda/kernels/grid.cuh"
#include "libraries/primitives/cuda/packing.hpp"

namespace troupe::cuda {
namespace {

template <class T>
__global__ void __launch_bounds__(block_threads)
    move_elements(const T* from, std::int64_t from_step, T* to, std::int64_t to_step,
                  std::int64_t count) {
  for_each_element(count, [&](std::int64_t i) { to[i * to_step] = from[i * from_step]; });
}

template <class T, class Index>
__global__ void __launch_bounds__(block_threads)
    gather_elements(const T* from, std::int64_t from_step, const Index* indices, T* to,
                    std::int64_t to_step, std::int64_t count) {
  for_each_element(count, [&](std::int64_t i) {
    to[i * to_step] = from[static_cast<std::int64_t>(indices[i]) * from_step];
  });
}

template <class Index>
__global__ void __launch_bounds__(block_threads) number_elements(Index* to, std::int64_t count) {
  for_each_element(count, [&](std::int64_t i) { to[i] = static_cast<Index>(i); });
}

template <class T>
T* elements_at(const std::byte* at) {
  return reinterpret_cast<T*>(const_cast<std::byte*>(at));
}

}  // namespace

result<void> enqueue_copy(const any_tensor& from, const any_tensor& to, lane& where) {
  return with_element(to.type(), [&]<class T>(T) {
    return launch_over(to.extent(0), move_elements<T>, where.stream(),
                       elements_at<const T>(from.address()), from.stride(0),
                       elements_at<T>(to.address()), to.stride(0), to.extent(0));
  });
}

template <class Index>
result<void> enqueue_gather(const any_tensor& from, const Index* indices, const any_tensor& to,
                            const lane& where) {
  return with_element(from.type(), [&]<class T>(T) {
    return launch_over(to.extent(0), gather_elements<T, Index>, where.stream(),
                       elements_at<const T>(from.address()), from.stride(0), indices,
                       elements_at<T>(to.address()), to.stride(0), to.extent(0));
  });
}
template result<void> enqueue_gather(const any_tensor&, const std::uint32_t*, const any_tensor&,
                                     const lane&);
template result<void> enqueue_gather(const any_tensor&, const std::uint64_t*, const any_tensor&,
                                     const lane&);

template <class Index>
result<void> enqueue_numbers(Index* to, std::int64_t count, const lane& where) {
  return launch_over(count, number_elements<Index>, where.stream(), to, count);
}
template result<void> enqueue_numbers(std::uint32_t*, std::int64_t, const lane&);
template result<void> enqueue_numbers(std::uint64_t*, std::int64_t, const lane&);

}  // namespace troupe::cuda
