#pragma once

#include "backend/cuda/context/lane.hpp"
#include "libraries/dnn/cuda/images/images.cuh"
#include "libraries/dnn/shared/sampled_axis.hpp"
#include "libraries/dnn/shared/samples.hpp"

/// Weighted sums over the elements of windows: averages and interpolations. Each source that
/// includes this file gets its own kernels.
namespace troupe::cuda {
namespace {

using dnn::tap_range;
using dnn::window_range;

template <class Windows>
struct average_operands {
  Windows depth, height, width;
  image_view image, response;
  bool aligned = false;  ///< columns of a place of the image
  image_places each;
};

/// The divisor of the sum over a window.
template <class Real, class Windows>
__device__ __forceinline__ Real divisor_of(const average_operands<Windows>& p,
                                           const tap_range& depth, const tap_range& height,
                                           const tap_range& width) {
  if (depth.empty() || height.empty() || width.empty()) return 1;
  return static_cast<Real>(p.depth.divisor(depth)) * static_cast<Real>(p.height.divisor(height)) *
         static_cast<Real>(p.width.divisor(width));
}

// Windows of up to `Taps` elements along the last dimension; 0: any number.
template <class T, class Windows, int V, int Taps>
__global__ void __launch_bounds__(image_threads, V == 1 ? occupied : 1)
    average_forward(const __grid_constant__ average_operands<Windows> p) {
  using real = image_real<T>;
  const std::int64_t flat = flat_thread();
  if (flat >= p.each.count) return;
  image_place at = p.each.at(flat);
  const tap_range depth = p.depth.taps_of(at.d);
  const tap_range width = p.width.taps_of(at.w);
  const auto factor_at = [&](std::int32_t tap) {
    return p.width.template factor<real>(at.w, width, tap);
  };
  real factors[Taps > 0 ? Taps : 1];
#pragma unroll
  for (int t = 0; t < Taps; ++t)
    factors[t] = t >= width.first && t < width.end ? factor_at(t) : real{0};
  const std::int64_t step = p.width.dilation * p.image.steps[2];
  const T* const column = p.image.template elements<T>() + at.n * p.image.n_step +
                          at.c * p.image.c_step + width.start * p.image.steps[2];
  const std::int32_t end = p.each.lines_end(at, p.height.out);
  T* response = p.response.template elements<T>() + at.in(p.response);
#pragma unroll 1
  for (; at.h < end; ++at.h) {
    const tap_range height = p.height.taps_of(at.h);
    real sums[V] = {};
    for (std::int32_t td = depth.first; td < depth.end; ++td) {
      const real of_depth = p.depth.template factor<real>(at.d, depth, td);
      for (std::int32_t th = height.first; th < height.end; ++th) {
        const real of_line = of_depth * p.height.template factor<real>(at.h, height, th);
        const T* const line =
            column + (depth.start + std::int64_t{td} * p.depth.dilation) * p.image.steps[0] +
            (height.start + std::int64_t{th} * p.height.dilation) * p.image.steps[1];
        const auto add = [&](const real(&x)[V], real factor) {
#pragma unroll
          for (int v = 0; v < V; ++v)
            sums[v] += factor * x[v];
        };
        if constexpr (Taps > 0) {
          real x[Taps][V];
#pragma unroll
          for (int t = 0; t < Taps; ++t) {
            fill_pack(x[t], real{0});
            if (t >= width.first && t < width.end) load_pack<T, V>(line + t * step, x[t]);
          }
#pragma unroll
          for (int t = 0; t < Taps; ++t)
            add(x[t], of_line * factors[t]);
        } else {
#pragma unroll 4
          for (std::int32_t tw = width.first; tw < width.end; ++tw) {
            real x[V];
            load_pack<T, V>(line + tw * step, x);
            add(x, of_line * factor_at(tw));
          }
        }
      }
    }
    const real by = divisor_of<real>(p, depth, height, width);
#pragma unroll
    for (int v = 0; v < V; ++v)
      sums[v] /= by;
    store_pack<T, V>(sums, response);
    response += p.response.steps[1];
  }
}

// One warp per element, for long windows: the lanes read neighbouring elements.
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
    if (p.image.steps[1] == of_width * p.image.steps[2]) {
#pragma unroll 2
      for (std::int64_t i = lane; i < std::int64_t{of_height} * of_width; i += 32)
        sum += real_of(plane[i * p.image.steps[2]]);
      continue;
    }
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
  sum /= divisor_of<real>(p, depth, height, width);
  p.response.template elements<T>()[at.in(p.response)] = element_of<T>(sum);
}

/// The share of the gradient of window `o` that belongs to place `i`; 0 if that is none of its
/// taps.
template <class Real, class Windows>
__device__ __forceinline__ Real share(const Windows& windows, std::int32_t o, std::int32_t i) {
  const tap_range taps = windows.taps_of(o);
  const std::int32_t tap = i < taps.start ? -1 : windows.tap_after(i - taps.start);
  if (!taps.has(tap)) return 0;
  return windows.template factor<Real>(o, taps, tap) / static_cast<Real>(windows.divisor(taps));
}

// Each thread takes `C` columns, which are in up to `Most` windows along the last dimension; 0: in
// any number.
template <class T, class Windows, int V, int C, int Most>
__global__ void __launch_bounds__(image_threads, V == 1 ? occupied : 1)
    average_backward(const __grid_constant__ average_operands<Windows> p) {
  using real = image_real<T>;
  const std::int64_t flat = flat_thread();
  if (flat >= p.each.count) return;
  image_place at = p.each.at(flat);
  const std::int32_t columns = p.each.columns_end(at, p.width.in);
  const window_range depth = p.depth.windows_of(at.d);
  const window_range width{.first = p.width.windows_of(at.w).first,
                           .end = p.width.windows_of(columns - 1).end};
  real shares[Most > 0 ? Most : 1][C];
#pragma unroll
  for (int i = 0; i < Most; ++i) {
#pragma unroll
    for (int c = 0; c < C; ++c)
      shares[i][c] =
          width.first + i < width.end ? share<real>(p.width, width.first + i, at.w + c) : real{0};
  }
  const T* const gradients = p.response.template elements<T>() + at.n * p.response.n_step +
                             at.c * p.response.c_step + width.first * p.response.steps[2];
  const std::int32_t end = p.each.lines_end(at, p.height.in);
  T* image = p.image.template elements<T>() + at.in(p.image);
#pragma unroll 1
  for (; at.h < end; ++at.h) {
    const window_range height = p.height.windows_of(at.h);
    real sums[C][V] = {};
    for (std::int32_t d = depth.first; d < depth.end; ++d) {
      const real of_depth = share<real>(p.depth, d, at.d);
      for (std::int32_t h = height.first; h < height.end; ++h) {
        const real of_line = of_depth * share<real>(p.height, h, at.h);
        const T* const line = gradients + d * p.response.steps[0] + h * p.response.steps[1];
        const auto take = [&](const real(&dy)[V], int c, real of_width) {
          const real factor = of_line * of_width;
          if (factor == 0) return;
#pragma unroll
          for (int v = 0; v < V; ++v)
            sums[c][v] += factor * dy[v];
        };
        if constexpr (Most > 0) {
          real dy[Most][V];
#pragma unroll
          for (int i = 0; i < Most; ++i) {
            fill_pack(dy[i], real{0});
            if (width.first + i < width.end) load_pack<T, V>(line + i * p.response.steps[2], dy[i]);
          }
#pragma unroll
          for (int i = 0; i < Most; ++i) {
#pragma unroll
            for (int c = 0; c < C; ++c)
              take(dy[i], c, shares[i][c]);
          }
        } else {
          for (std::int32_t w = width.first; w < width.end; ++w) {
            real dy[V];
            load_pack<T, V>(line + (w - width.first) * p.response.steps[2], dy);
#pragma unroll
            for (int c = 0; c < C; ++c)
              take(dy, c, share<real>(p.width, w, at.w + c));
          }
        }
      }
    }
    store_columns<T, V, C>(sums, image, p.image.steps[2], columns - at.w, p.aligned);
    image += p.image.steps[1];
  }
}

/// Launches the kernel for such windows, with V channels per thread.
template <class T, int V, class Windows>
result<void> launch_average(average_operands<Windows>& p, const image_extents& of, bool inside,
                            bool backward, lane& where) {
  // Samples are so dense that one column is enough work for a thread.
  constexpr bool samples = Windows::weighted;
  constexpr bool tabled = std::same_as<Windows, dnn::tabled_samples>;
  constexpr int columns = V == 1 && !samples ? columns_each : 1;
  p.each = image_places(of, inside, V, backward ? columns : 1, lines_each(of));
  p.aligned = of.space[2] % columns == 0 && lines_align(p.image, columns, sizeof(T));
  const auto go = [&](auto kernel) {
    return launch(kernel, blocks_for(p.each.count), image_threads, where.stream(), p);
  };
  if (backward) {
    const auto by = [&](auto most) { return go(average_backward<T, Windows, V, columns, most>); };
    if constexpr (tabled) {
      return by(std::integral_constant<int, 0>());
    } else if constexpr (samples) {
      return with_most<T, 2, 4>(p.width.most_windows(columns), by);
    } else {
      return with_most<T, 1, 2, 3, 6>(p.width.most_windows(columns), by);
    }
  }
  if constexpr (std::same_as<Windows, dnn::fixed_windows>) {
    return with_most<T, 2, 3>(p.width.window,
                              [&](auto taps) { return go(average_forward<T, Windows, V, taps>); });
  } else if constexpr (samples && !tabled) {
    return with_most<T, 2>(2, [&](auto taps) { return go(average_forward<T, Windows, V, taps>); });
  } else {
    return go(average_forward<T, Windows, V, 0>);
  }
}

/// Windows from this size on get a warp instead of a thread.
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
    [[maybe_unused]] constexpr int most = vector_bytes / sizeof(T);
    if constexpr (!std::same_as<Windows, dnn::tabled_samples>) {
      if (inside && of.c % most == 0 && channels_align(p.image, most, sizeof(T)) &&
          channels_align(p.response, most, sizeof(T))) {
        return launch_average<T, most>(p, of, true, backward, where);
      }
    }
    if constexpr (!Windows::weighted) {
      const bool dense = p.depth.dilation == 1 && p.height.dilation == 1 && p.width.dilation == 1;
      if (!backward && !inside && dense && taps_of_window(p) >= long_window) {
        p.each = image_places(of, inside, 1, 1);
        return launch(average_by_warps<T, Windows>, blocks_for(p.each.count * 32), image_threads,
                      where.stream(), p);
      }
    }
    return launch_average<T, 1>(p, of, inside, backward, where);
  });
}

/// The windows that follow from the extents and the arguments `more`.
template <class Windows, class... More>
average_operands<Windows> windows_between(const any_tensor& image, const any_tensor& response,
                                          More... more) {
  const image_extents in(image);
  const image_extents out(response);
  average_operands<Windows> p;
  p.depth = Windows(in.space[0], out.space[0], more...);
  p.height = Windows(in.space[1], out.space[1], more...);
  p.width = Windows(in.space[2], out.space[2], more...);
  return p;
}
}  // namespace
}  // namespace troupe::cuda
