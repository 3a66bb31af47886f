#include "backend/cuda/context/executor.hpp"
#include "libraries/dnn/cuda/images/images.cuh"
#include "libraries/dnn/cuda/images/narrow_windows.cuh"
#include "libraries/dnn/shared/pooling_windows.hpp"

#include <limits>

namespace troupe::cuda {
namespace {

using dnn::fixed_windows;
using dnn::tap_range;
using dnn::window_range;

struct max_operands {
  fixed_windows depth, height, width;
  image_view image, response, places;
  bool wide_places = false;
  bool aligned = false;  ///< columns of a place of the image
  image_places each;
};

template <int V>
__device__ __forceinline__ void store_places(const max_operands& p, std::int64_t offset,
                                             const std::int32_t (&places)[V]) {
  const auto keep = [&]<class P>(P) {
    pack<P, V> all;
#pragma unroll
    for (int v = 0; v < V; ++v)
      all.of[v] = static_cast<P>(places[v]);
    if constexpr (sizeof(all) <= 16) {
      *reinterpret_cast<pack<P, V>*>(p.places.elements<P>() + offset) = all;
    } else {
#pragma unroll
      for (int v = 0; v < V; ++v)
        p.places.elements<P>()[offset + v] = all.of[v];
    }
  };
  if (p.wide_places) {
    keep(std::int32_t{});
  } else {
    keep(std::uint8_t{});
  }
}

/// The largest elements so far and their positions.
template <class Real, int V>
struct maxima {
  Real best[V];
  std::int32_t places[V];

  __device__ __forceinline__ explicit maxima(std::int32_t first_place) {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      best[v] = -std::numeric_limits<Real>::infinity();
      places[v] = first_place;
    }
  }
  __device__ __forceinline__ void take(const Real (&x)[V], std::int32_t place) {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      // The first NaN wins.
      const bool taken = !(x[v] <= best[v]) && best[v] == best[v];
      best[v] = taken ? x[v] : best[v];
      places[v] = taken ? place : places[v];
    }
  }
};

// Windows of up to `Taps` elements along the last dimension; 0: any number.
template <class T, int V, int Taps>
__global__ void __launch_bounds__(image_threads, V == 1 ? occupied : 1)
    max_forward(const __grid_constant__ max_operands p) {
  using real = image_real<T>;
  const std::int64_t flat = flat_thread();
  if (flat >= p.each.count) return;
  image_place at = p.each.at(flat);
  const tap_range depth = p.depth.taps_of(at.d);
  const tap_range width = p.width.taps_of(at.w);
  const std::int64_t step = p.width.dilation * p.image.steps[2];
  const T* const column = p.image.elements<T>() + at.n * p.image.n_step + at.c * p.image.c_step +
                          width.start * p.image.steps[2];
  const std::int32_t end = p.each.lines_end(at, p.height.out);
  T* response = p.response.elements<T>() + at.in(p.response);
  std::int64_t of_places = at.in(p.places);
#pragma unroll 1
  for (; at.h < end; ++at.h) {
    const tap_range height = p.height.taps_of(at.h);
    const bool none = depth.empty() || height.empty() || width.empty();
    maxima<real, V> largest(
        none ? -1 : (depth.first * p.height.window + height.first) * p.width.window + width.first);
    for (std::int32_t td = depth.first; td < depth.end; ++td) {
      for (std::int32_t th = height.first; th < height.end; ++th) {
        const T* const line =
            column +
            (depth.start + static_cast<std::int64_t>(td) * p.depth.dilation) * p.image.steps[0] +
            (height.start + static_cast<std::int64_t>(th) * p.height.dilation) * p.image.steps[1];
        const std::int32_t first = (td * p.height.window + th) * p.width.window;
        if constexpr (Taps > 0) {
          real x[Taps][V];
#pragma unroll
          for (int t = 0; t < Taps; ++t) {
            // Padding never wins.
            fill_pack(x[t], -std::numeric_limits<real>::infinity());
            if (t >= width.first && t < width.end) load_pack<T, V>(line + t * step, x[t]);
          }
#pragma unroll
          for (int t = 0; t < Taps; ++t)
            largest.take(x[t], first + t);
        } else {
#pragma unroll 3
          for (std::int32_t tw = width.first; tw < width.end; ++tw) {
            real x[V];
            load_pack<T, V>(line + tw * step, x);
            largest.take(x, first + tw);
          }
        }
      }
    }
    store_pack<T, V>(largest.best, response);
    response += p.response.steps[1];
    if (p.places.given()) store_places<V>(p, of_places, largest.places);
    of_places += p.places.steps[1];
  }
}

// Each thread takes `C` narrow windows of a line.
template <class T, class Narrow, int C>
__global__ void __launch_bounds__(image_threads, occupied)
    max_of_narrow(const __grid_constant__ max_operands p) {
  using real = image_real<T>;
  const std::int64_t flat = flat_thread();
  if (flat >= p.each.count) return;
  image_place at = p.each.at(flat);
  const std::int32_t columns = p.each.columns_end(at, p.width.out) - at.w;
  const tap_range depth = p.depth.taps_of(at.d);
  std::int32_t first_taps[C];
#pragma unroll
  for (int c = 0; c < C; ++c) {
    const tap_range taps = p.width.taps_of(at.w + c);
    first_taps[c] = taps.empty() || depth.empty() ? -1 : taps.first;
  }
  const T* const plane = p.image.elements<T>() + at.n * p.image.n_step + at.c * p.image.c_step;
  const std::int32_t end = p.each.lines_end(at, p.height.out);
  T* response = p.response.elements<T>() + at.in(p.response);
  std::int64_t of_places = at.in(p.places);
#pragma unroll 1
  for (; at.h < end; ++at.h) {
    const tap_range height = p.height.taps_of(at.h);
    maxima<real, C> largest(0);
    const std::int32_t first_line = (depth.first * p.height.window + height.first) * Narrow::window;
#pragma unroll
    for (int c = 0; c < C; ++c)
      largest.places[c] = first_taps[c] < 0 || height.empty() ? -1 : first_line + first_taps[c];
    for (std::int32_t td = depth.first; td < depth.end; ++td) {
      for (std::int32_t th = height.first; th < height.end; ++th) {
        const T* const line =
            plane +
            (depth.start + static_cast<std::int64_t>(td) * p.depth.dilation) * p.image.steps[0] +
            (height.start + static_cast<std::int64_t>(th) * p.height.dilation) * p.image.steps[1];
        real all[Narrow::places(C)];
        // Padding never wins.
        load_windows<T, Narrow, C>(line, at.w, p.width.in, -std::numeric_limits<real>::infinity(),
                                   all);
        const std::int32_t first = (td * p.height.window + th) * Narrow::window;
#pragma unroll
        for (int t = 0; t < Narrow::window; ++t) {
          real x[C];
#pragma unroll
          for (int c = 0; c < C; ++c)
            x[c] = all[c * Narrow::stride + t];
          largest.take(x, first + t);
        }
      }
    }
    real columns_of_one[C][1];
#pragma unroll
    for (int c = 0; c < C; ++c)
      columns_of_one[c][0] = largest.best[c];
    store_columns<T, 1, C>(columns_of_one, response, p.response.steps[2], columns, p.aligned);
    response += p.response.steps[1];
    if (!p.places.given()) continue;
    if (p.aligned && columns == C) {
      store_places<C>(p, of_places, largest.places);
    } else {
#pragma unroll
      for (int c = 0; c < C; ++c) {
        const std::int32_t one[1] = {largest.places[c]};
        if (c < columns) store_places<1>(p, of_places + c * p.places.steps[2], one);
      }
    }
    of_places += p.places.steps[1];
  }
}

template <class P, int V>
__device__ __forceinline__ void load_places(const P* from, P (&to)[V]) {
  if constexpr (sizeof(P) * V <= vector_bytes) {
    const auto all = *reinterpret_cast<const pack<P, V>*>(from);
#pragma unroll
    for (int v = 0; v < V; ++v)
      to[v] = all.of[v];
  } else {
#pragma unroll
    for (int v = 0; v < V; ++v)
      to[v] = from[v];
  }
}

// Each thread takes `C` columns, which are in up to `Most` windows along the last dimension; 0: in
// any number.
template <class T, class P, int V, int C, int Most>
__global__ void __launch_bounds__(image_threads, V == 1 ? occupied : 1)
    max_backward(const __grid_constant__ max_operands p) {
  using real = image_real<T>;
  const std::int64_t flat = flat_thread();
  if (flat >= p.each.count) return;
  image_place at = p.each.at(flat);
  const std::int32_t columns = p.each.columns_end(at, p.width.in);
  const window_range depth = p.depth.windows_of(at.d);
  const window_range width{.first = p.width.windows_of(at.w).first,
                           .end = p.width.windows_of(columns - 1).end};
  const auto begin = [&](const image_view& v) {
    return at.n * v.n_step + at.c * v.c_step + width.first * v.steps[2];
  };
  const T* const gradients = p.response.elements<T>() + begin(p.response);
  const P* const places = p.places.elements<P>() + begin(p.places);
  const std::int32_t end = p.each.lines_end(at, p.height.in);
  T* image = p.image.elements<T>() + at.in(p.image);
#pragma unroll 1
  for (; at.h < end; ++at.h) {
    const window_range height = p.height.windows_of(at.h);
    real sums[C][V] = {};
    for (std::int32_t d = depth.first; d < depth.end; ++d) {
      const std::int32_t td = p.depth.number_at(d, at.d);
      for (std::int32_t h = height.first; h < height.end; ++h) {
        const std::int32_t th = p.height.number_at(h, at.h);
        if (td < 0 || th < 0) continue;
        const std::int32_t first = (td * p.height.window + th) * p.width.window;
        const T* const dy = gradients + d * p.response.steps[0] + h * p.response.steps[1];
        const P* const of = places + d * p.places.steps[0] + h * p.places.steps[1];
        const auto take = [&](std::int32_t w, const real(&x)[V], const P(&found)[V]) {
          // The position of the window's tap 0, relative to the first column.
          const std::int32_t start = w * p.width.stride - p.width.padding - at.w;
          const std::int32_t tap = C == 1 ? p.width.number_at(w, at.w) : 0;
#pragma unroll
          for (int v = 0; v < V; ++v) {
            if constexpr (C == 1) {
              const bool here = tap >= 0 && found[v] == static_cast<P>(first + tap);
              sums[0][v] += here ? x[v] : real{0};
            } else {
              const std::uint32_t of_line = static_cast<std::uint32_t>(found[v]) - first;
              const std::int32_t column =
                  of_line < p.width.window
                      ? start + static_cast<std::int32_t>(of_line) * p.width.dilation
                      : -1;
#pragma unroll
              for (int c = 0; c < C; ++c)
                sums[c][v] += column == c ? x[v] : real{0};
            }
          }
        };
        if constexpr (Most > 0) {
          real x[Most][V];
          P found[Most][V];
#pragma unroll
          for (int i = 0; i < Most; ++i) {
            fill_pack(x[i], real{0});
            fill_pack(found[i], P{});
            if (width.first + i >= width.end) continue;
            load_pack<T, V>(dy + i * p.response.steps[2], x[i]);
            load_places<P, V>(of + i * p.places.steps[2], found[i]);
          }
#pragma unroll
          for (int i = 0; i < Most; ++i)
            take(width.first + i, x[i], found[i]);
        } else {
          for (std::int32_t w = width.first; w < width.end; ++w) {
            const std::int32_t i = w - width.first;
            real x[V];
            P found[V];
            load_pack<T, V>(dy + i * p.response.steps[2], x);
            load_places<P, V>(of + i * p.places.steps[2], found);
            take(w, x, found);
          }
        }
      }
    }
    store_columns<T, V, C>(sums, image, p.image.steps[2], columns - at.w, p.aligned);
    image += p.image.steps[1];
  }
}

template <class R>
max_operands operands_of(const R& r, const any_tensor& image, const any_tensor& response) {
  const dnn::pooling pooling = dnn::pooling_of(r);
  max_operands p;
  p.depth = dnn::windows_along(pooling, 0);
  p.height = dnn::windows_along(pooling, 1);
  p.width = dnn::windows_along(pooling, 2);
  p.image = image_view(image);
  p.response = image_view(response);
  if (r.places.null()) return p;
  p.places = image_view(r.places);
  p.wide_places = r.places.type() == dtype::i32;
  return p;
}
/// Calls `launch_it` with the numbers of channels and columns per thread. There are at most
/// `most_columns` columns.
template <class T, int MostColumns, class Launch>
result<void> with_places(max_operands& p, const image_extents& of, Launch launch_it) {
  constexpr int most = vector_bytes / sizeof(T);
  constexpr std::integral_constant<int, 1> one;
  const bool inside = channels_are_inside(of, p.image);
  const bool aligned = of.c % most == 0 && channels_align(p.image, most, sizeof(T)) &&
                       channels_align(p.response, most, sizeof(T)) &&
                       (!p.places.given() || channels_align(p.places, most, p.wide_places ? 4 : 1));
  if (aligned && inside) {
    p.each = image_places(of, true, most, 1, lines_each(of));
    return launch_it(std::integral_constant<int, most>(), one);
  }
  p.each = image_places(of, inside, 1, MostColumns, lines_each(of));
  p.aligned = of.space[2] % MostColumns == 0 && lines_align(p.image, MostColumns, sizeof(T));
  return launch_it(one, std::integral_constant<int, MostColumns>());
}

result<void> forward(const dnn::max_pool_forward& r, lane& where) {
  if (r.y.empty()) return {};
  max_operands p = operands_of(r, r.x, r.y);
  return dnn::for_image_type(r.x.type(), [&]<class T>(T) -> result<void> {
    const image_extents of(r.y);
    const auto narrow = [&]<class Narrow, class Count>(Narrow, Count) {
      constexpr int count = Count::value;
      p.each = image_places(of, false, 1, count, lines_each(of));
      p.aligned = of.space[2] % count == 0 && lines_align(p.response, count, sizeof(T)) &&
                  (!p.places.given() || lines_align(p.places, count, p.wide_places ? 4 : 1));
      return launch(max_of_narrow<T, Narrow, count>, blocks_for(p.each.count), image_threads,
                    where.stream(), p);
    };
    if (!channels_are_inside(of, p.image)) {
      if (auto done = with_narrow<T>(p.width, p.image, narrow)) return *std::move(done);
    }
    return with_places<T, 1>(p, of, [&](auto v, auto) {
      return with_most<T, 2, 3>(p.width.window, [&](auto taps) {
        return launch(max_forward<T, v, taps>, blocks_for(p.each.count), image_threads,
                      where.stream(), p);
      });
    });
  });
}
result<void> backward(const dnn::max_pool_backward& r, lane& where) {
  if (r.dx.empty()) return {};
  max_operands p = operands_of(r, r.dx, r.dy);
  return dnn::for_image_type(r.dx.type(), [&]<class T>(T) {
    return with_places<T, columns_each>(p, image_extents(r.dx), [&](auto v, auto columns) {
      return with_most<T, 1, 2, 3, 6>(p.width.most_windows(columns), [&](auto most) {
        return launch(p.wide_places ? max_backward<T, std::int32_t, v, columns, most>
                                    : max_backward<T, std::uint8_t, v, columns, most>,
                      blocks_for(p.each.count), image_threads, where.stream(), p);
      });
    });
  });
}

const plugin_operations operations([](operation_table& table) {
  add<dnn::max_pool_forward>(table, forward);
  add<dnn::max_pool_backward>(table, backward);
});

}  // namespace
}  // namespace troupe::cuda
