#include "backend/cuda/context/executor.hpp"
#include "libraries/dnn/cuda/images/images.cuh"
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
  image_places each;
};

template <int V>
__device__ __forceinline__ void store_places(const max_operands& p, const image_place& at,
                                             const std::int32_t (&places)[V]) {
  const std::int64_t offset = at.in(p.places);
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

template <class T, int V>
__global__ void __launch_bounds__(image_threads)
    max_forward(const __grid_constant__ max_operands p) {
  using real = image_real<T>;
  const std::int64_t flat = flat_thread();
  if (flat >= p.each.count) return;
  const image_place at = p.each.at(flat);
  const tap_range depth = p.depth.taps_of(at.d);
  const tap_range height = p.height.taps_of(at.h);
  const tap_range width = p.width.taps_of(at.w);
  const bool none = depth.empty() || height.empty() || width.empty();
  real best[V];
  std::int32_t places[V];
#pragma unroll
  for (int v = 0; v < V; ++v) {
    best[v] = -std::numeric_limits<real>::infinity();
    places[v] =
        none ? -1 : (depth.first * p.height.window + height.first) * p.width.window + width.first;
  }
  const T* const image = p.image.elements<T>() + at.n * p.image.n_step + at.c * p.image.c_step;
  for (std::int32_t td = depth.first; td < depth.end; ++td) {
    for (std::int32_t th = height.first; th < height.end; ++th) {
      const T* const line =
          image +
          (depth.start + static_cast<std::int64_t>(td) * p.depth.dilation) * p.image.steps[0] +
          (height.start + static_cast<std::int64_t>(th) * p.height.dilation) * p.image.steps[1] +
          width.start * p.image.steps[2];
      const std::int32_t first = (td * p.height.window + th) * p.width.window;
      const std::int64_t step = p.width.dilation * p.image.steps[2];
#pragma unroll 3
      for (std::int32_t tw = width.first; tw < width.end; ++tw) {
        real x[V];
        load_pack<T, V>(line + tw * step, x);
#pragma unroll
        for (int v = 0; v < V; ++v) {
          // The first NaN stays.
          const bool taken = !(x[v] <= best[v]) && best[v] == best[v];
          best[v] = taken ? x[v] : best[v];
          places[v] = taken ? first + tw : places[v];
        }
      }
    }
  }
  store_pack<T, V>(best, p.response.elements<T>() + at.in(p.response));
  if (p.places.given()) store_places<V>(p, at, places);
}

template <class T, class P, int V>
__global__ void __launch_bounds__(image_threads)
    max_backward(const __grid_constant__ max_operands p) {
  using real = image_real<T>;
  const std::int64_t flat = flat_thread();
  if (flat >= p.each.count) return;
  const image_place at = p.each.at(flat);
  const window_range depth = p.depth.windows_of(at.d);
  const window_range height = p.height.windows_of(at.h);
  const window_range width = p.width.windows_of(at.w);
  real sums[V] = {};
  for (std::int32_t d = depth.first; d < depth.end; ++d) {
    for (std::int32_t h = height.first; h < height.end; ++h) {
      for (std::int32_t w = width.first; w < width.end; ++w) {
        const std::int32_t td = p.depth.tap_at(d, at.d);
        const std::int32_t th = p.height.tap_at(h, at.h);
        const std::int32_t tw = p.width.tap_at(w, at.w);
        if (td < 0 || th < 0 || tw < 0) continue;
        const auto wanted = static_cast<P>((td * p.height.window + th) * p.width.window + tw);
        const image_place from{.n = at.n, .c = at.c, .d = d, .h = h, .w = w};
        real dy[V];
        load_pack<T, V>(p.response.elements<T>() + from.in(p.response), dy);
        const P* const places = p.places.elements<P>() + from.in(p.places);
        P found[V];
        if constexpr (sizeof(P) == 1) {
          const auto all = *reinterpret_cast<const pack<P, V>*>(places);
#pragma unroll
          for (int v = 0; v < V; ++v)
            found[v] = all.of[v];
        } else {
#pragma unroll
          for (int v = 0; v < V; ++v)
            found[v] = places[v];
        }
#pragma unroll
        for (int v = 0; v < V; ++v)
          sums[v] += found[v] == wanted ? dy[v] : real{0};
      }
    }
  }
  store_pack<T, V>(sums, p.image.elements<T>() + at.in(p.image));
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
/// Calls `launch_it` with how many channels a thread takes.
template <class T, class Launch>
result<void> with_channels(max_operands& p, const image_extents& of, Launch launch_it) {
  constexpr int most = vector_bytes / sizeof(T);
  const bool inside = channels_are_inside(of, p.image);
  const bool aligned = of.c % most == 0 && channels_align(p.image, most, sizeof(T)) &&
                       channels_align(p.response, most, sizeof(T)) &&
                       (!p.places.given() || channels_align(p.places, most, p.wide_places ? 4 : 1));
  if (aligned && inside) {
    p.each = image_places(of, true, most, 1);
    return launch_it(std::integral_constant<int, most>());
  }
  p.each = image_places(of, inside, 1, 1);
  return launch_it(std::integral_constant<int, 1>());
}

result<void> forward(const dnn::max_pool_forward& r, lane& where) {
  if (r.y.empty()) return {};
  max_operands p = operands_of(r, r.x, r.y);
  return dnn::for_image_type(r.x.type(), [&]<class T>(T) {
    return with_channels<T>(p, image_extents(r.y), [&](auto v) {
      return launch(max_forward<T, v>, blocks_for(p.each.count), image_threads, where.stream(), p);
    });
  });
}
result<void> backward(const dnn::max_pool_backward& r, lane& where) {
  if (r.dx.empty()) return {};
  max_operands p = operands_of(r, r.dx, r.dy);
  return dnn::for_image_type(r.dx.type(), [&]<class T>(T) {
    return with_channels<T>(p, image_extents(r.dx), [&](auto v) {
      return launch(
          p.wide_places ? max_backward<T, std::int32_t, v> : max_backward<T, std::uint8_t, v>,
          blocks_for(p.each.count), image_threads, where.stream(), p);
    });
  });
}

const plugin_operations operations([](operation_table& table) {
  add<dnn::max_pool_forward>(table, forward);
  add<dnn::max_pool_backward>(table, backward);
});

}  // namespace
}  // namespace troupe::cuda
