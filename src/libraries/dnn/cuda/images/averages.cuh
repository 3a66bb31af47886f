#pragma once

#include "backend/cuda/context/lane.hpp"
#include "libraries/dnn/cuda/images/images.cuh"
#include "libraries/dnn/shared/samples.hpp"

/// Sums of the elements of windows, each by its factor: averages and interpolations. Each source
/// that includes this has kernels of its own.
namespace troupe::cuda {
namespace {

using dnn::tap_range;
using dnn::window_range;

template <class Windows>
struct average_operands {
  Windows depth, height, width;
  image_view image, response;
  image_places each;
};

template <class T, class Windows, int V>
__global__ void __launch_bounds__(image_threads)
    average_forward(const __grid_constant__ average_operands<Windows> p) {
  using real = image_real<T>;
  const std::int64_t flat = flat_thread();
  if (flat >= p.each.count) return;
  const image_place at = p.each.at(flat);
  const tap_range depth = p.depth.taps_of(at.d);
  const tap_range height = p.height.taps_of(at.h);
  const tap_range width = p.width.taps_of(at.w);
  real sums[V] = {};
  const T* const image =
      p.image.template elements<T>() + at.n * p.image.n_step + at.c * p.image.c_step;
  for (std::int32_t td = depth.first; td < depth.end; ++td) {
    const real of_depth = p.depth.template factor<real>(at.d, depth, td);
    for (std::int32_t th = height.first; th < height.end; ++th) {
      const real of_line = of_depth * p.height.template factor<real>(at.h, height, th);
      const T* const line = image + (depth.start + std::int64_t{td}) * p.image.steps[0] +
                            (height.start + std::int64_t{th}) * p.image.steps[1] +
                            width.start * p.image.steps[2];
#pragma unroll 4
      for (std::int32_t tw = width.first; tw < width.end; ++tw) {
        real x[V];
        load_pack<T, V>(line + tw * p.image.steps[2], x);
        const real factor = of_line * p.width.template factor<real>(at.w, width, tw);
#pragma unroll
        for (int v = 0; v < V; ++v)
          sums[v] += factor * x[v];
      }
    }
  }
  if (!depth.empty() && !height.empty() && !width.empty()) {
    const real by = static_cast<real>(p.depth.divisor(depth)) *
                    static_cast<real>(p.height.divisor(height)) *
                    static_cast<real>(p.width.divisor(width));
#pragma unroll
    for (int v = 0; v < V; ++v)
      sums[v] /= by;
  }
  store_pack<T, V>(sums, p.response.template elements<T>() + at.in(p.response));
}

// A warp for each element, whose window is long: its lanes lie side by side.
template <class T, class Windows>
__global__ void __launch_bounds__(image_threads)
    average_by_warps(const __grid_constant__ average_operands<Windows> p) {
  using real = image_real<T>;
  const std::int64_t flat = flat_thread() / 32;
  if (flat >= p.each.count) return;
  const auto lane = static_cast<std::int32_t>(threadIdx.x % 32);
  const image_place at = p.each.at(flat);
  const tap_range depth = p.depth.taps_of(at.d);
  const tap_range height = p.height.taps_of(at.h);
  const tap_range width = p.width.taps_of(at.w);
  const T* const image =
      p.image.template elements<T>() + at.n * p.image.n_step + at.c * p.image.c_step;
  real sum = 0;
  const std::int32_t of_width = width.empty() ? 0 : width.end - width.first;
  const std::int32_t of_height = height.empty() ? 0 : height.end - height.first;
  for (std::int32_t td = depth.first; td < depth.end; ++td) {
    const T* const plane = image + (depth.start + std::int64_t{td}) * p.image.steps[0] +
                           (height.start + std::int64_t{height.first}) * p.image.steps[1] +
                           (width.start + std::int64_t{width.first}) * p.image.steps[2];
    for (std::int64_t i = lane; i < std::int64_t{of_height} * of_width; i += 32) {
      const auto h = static_cast<std::int32_t>(i / of_width);
      const auto w = static_cast<std::int32_t>(i - std::int64_t{h} * of_width);
      sum += real_of(plane[h * p.image.steps[1] + w * p.image.steps[2]]);
    }
  }
#pragma unroll
  for (int half = 16; half > 0; half /= 2)
    sum += __shfl_down_sync(0xffffffffu, sum, half);
  if (lane != 0) return;
  if (of_width > 0 && of_height > 0 && !depth.empty()) {
    sum /= static_cast<real>(p.depth.divisor(depth)) * static_cast<real>(p.height.divisor(height)) *
           static_cast<real>(p.width.divisor(width));
  }
  p.response.template elements<T>()[at.in(p.response)] = element_of<T>(sum);
}

/// Of window `o`, which place `i` is in: what of its gradient is the place's.
template <class Real, class Windows>
__device__ __forceinline__ Real share(const Windows& windows, std::int32_t o, std::int32_t i) {
  const tap_range taps = windows.taps_of(o);
  return windows.template factor<Real>(o, taps, i - taps.start) /
         static_cast<Real>(windows.divisor(taps));
}

template <class T, class Windows, int V>
__global__ void __launch_bounds__(image_threads)
    average_backward(const __grid_constant__ average_operands<Windows> p) {
  using real = image_real<T>;
  const std::int64_t flat = flat_thread();
  if (flat >= p.each.count) return;
  const image_place at = p.each.at(flat);
  const window_range depth = p.depth.windows_of(at.d);
  const window_range height = p.height.windows_of(at.h);
  const window_range width = p.width.windows_of(at.w);
  real sums[V] = {};
  for (std::int32_t d = depth.first; d < depth.end; ++d) {
    const real of_depth = share<real>(p.depth, d, at.d);
    for (std::int32_t h = height.first; h < height.end; ++h) {
      const real of_line = of_depth * share<real>(p.height, h, at.h);
      for (std::int32_t w = width.first; w < width.end; ++w) {
        const real factor = of_line * share<real>(p.width, w, at.w);
        const image_place from{.n = at.n, .c = at.c, .d = d, .h = h, .w = w};
        real dy[V];
        load_pack<T, V>(p.response.template elements<T>() + from.in(p.response), dy);
#pragma unroll
        for (int v = 0; v < V; ++v)
          sums[v] += factor * dy[v];
      }
    }
  }
  store_pack<T, V>(sums, p.image.template elements<T>() + at.in(p.image));
}

/// A window that a warp takes rather than a thread.
constexpr std::int64_t long_window = 24;

template <class Windows>
std::int64_t taps_of_window(const average_operands<Windows>& p) {
  const auto of = [](const Windows& w) {
    const tap_range taps = w.taps_of(w.out / 2);
    return static_cast<std::int64_t>(taps.end - taps.first);
  };
  return of(p.depth) * of(p.height) * of(p.width);
}

template <class Windows>
result<void> run_average(average_operands<Windows> p, const any_tensor& image,
                         const any_tensor& response, bool backward, lane& where) {
  const any_tensor& written = backward ? image : response;
  if (written.empty()) return {};
  p.image = image_view(image);
  p.response = image_view(response);
  const image_extents of(written);
  const bool inside = channels_are_inside(image_extents(image), p.image);
  return dnn::for_image_type(image.type(), [&]<class T>(T) -> result<void> {
    constexpr int most = vector_bytes / sizeof(T);
    if (inside && of.c % most == 0 && channels_align(p.image, most, sizeof(T)) &&
        channels_align(p.response, most, sizeof(T))) {
      p.each = image_places(of, true, most, 1);
      return launch(
          backward ? average_backward<T, Windows, most> : average_forward<T, Windows, most>,
          blocks_for(p.each.count), image_threads, where.stream(), p);
    }
    p.each = image_places(of, inside, 1, 1);
    if constexpr (!std::same_as<Windows, dnn::interpolated_samples>) {
      if (!backward && !inside && taps_of_window(p) >= long_window) {
        return launch(average_by_warps<T, Windows>, blocks_for(p.each.count * 32), image_threads,
                      where.stream(), p);
      }
    }
    return launch(backward ? average_backward<T, Windows, 1> : average_forward<T, Windows, 1>,
                  blocks_for(p.each.count), image_threads, where.stream(), p);
  });
}

/// Those that follow from the extents.
template <class Windows>
average_operands<Windows> windows_between(const any_tensor& image, const any_tensor& response) {
  const image_extents in(image);
  const image_extents out(response);
  average_operands<Windows> p;
  Windows* const all[] = {&p.depth, &p.height, &p.width};
  for (int d = 0; d < 3; ++d) {
    all[d]->in = static_cast<std::int32_t>(in.space[d]);
    all[d]->out = static_cast<std::int32_t>(out.space[d]);
  }
  return p;
}
}  // namespace
}  // namespace troupe::cuda
