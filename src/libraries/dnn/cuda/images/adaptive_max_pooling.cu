#include "backend/cuda/context/executor.hpp"
#include "libraries/dnn/cuda/images/averages.cuh"

#include <troupe/dnn/pooling.hpp>

#include <limits>

namespace troupe::cuda {
namespace {

using dnn::adaptive_windows;

struct adaptive_maxima : average_operands<adaptive_windows> {
  image_view places;
  unsigned lanes = 1;  ///< threads of an element of the response, 1 or 32

  /// The number of a place in the image. It has more than 31 bits only if no request asks for
  /// places.
  [[nodiscard]] __device__ __forceinline__ std::int32_t number(std::int32_t d, std::int32_t h,
                                                               std::int32_t w) const {
    const auto whole = [](std::int32_t n) { return static_cast<std::uint32_t>(n); };
    return static_cast<std::int32_t>((whole(d) * whole(height.in) + whole(h)) * whole(width.in) +
                                     whole(w));
  }
};

/// The largest element so far, or the first NaN, and the least place that has it.
template <class Real>
struct maximum {
  Real best = -std::numeric_limits<Real>::infinity();
  std::int32_t place = std::numeric_limits<std::int32_t>::max();

  __device__ __forceinline__ void take(Real x, std::int32_t at) {
    const bool none = x != x;
    const bool best_is_none = best != best;
    const bool equal = x == best || (none && best_is_none);
    const bool larger = !best_is_none && !(x <= best);
    if (!larger && !(equal && at < place)) return;
    best = x;
    place = at;
  }
};

template <class T>
__global__ void __launch_bounds__(image_threads)
    adaptive_max(const __grid_constant__ adaptive_maxima p) {
  using real = image_real<T>;
  const std::int64_t flat = flat_thread() / p.lanes;
  if (flat >= p.each.count) return;
  const image_place at = p.each.at(flat);
  const tap_range depth = p.depth.taps_of(at.d);
  const tap_range height = p.height.taps_of(at.h);
  const tap_range width = p.width.taps_of(at.w);
  const T* const image = p.image.elements<T>() + at.n * p.image.n_step + at.c * p.image.c_step;
  maximum<real> largest;
  for (std::int32_t d = depth.start; d < depth.start + depth.end; ++d) {
    // In 64 bits, because a lane may go beyond the last element.
    std::int64_t w = threadIdx.x % p.lanes;
    std::int64_t h = 0;
    while (true) {
      for (; w >= width.end; w -= width.end)
        ++h;
      if (h >= height.end) break;
      const auto line = static_cast<std::int32_t>(height.start + h);
      const auto column = static_cast<std::int32_t>(width.start + w);
      largest.take(
          real_of(
              image[d * p.image.steps[0] + line * p.image.steps[1] + column * p.image.steps[2]]),
          p.number(d, line, column));
      w += p.lanes;
    }
  }
  for (unsigned half = p.lanes / 2; half > 0; half /= 2) {
    const real other = __shfl_down_sync(0xffffffffu, largest.best, half);
    const std::int32_t place = __shfl_down_sync(0xffffffffu, largest.place, half);
    largest.take(other, place);
  }
  if (threadIdx.x % p.lanes != 0) return;
  p.response.elements<T>()[at.in(p.response)] = element_of<T>(largest.best);
  if (p.places.given()) p.places.elements<std::int32_t>()[at.in(p.places)] = largest.place;
}

template <class T>
__global__ void __launch_bounds__(image_threads)
    adaptive_max_gradient(const __grid_constant__ adaptive_maxima p) {
  const std::int64_t flat = flat_thread();
  if (flat >= p.each.count) return;
  const image_place at = p.each.at(flat);
  const window_range depth = p.depth.windows_of(at.d);
  const window_range height = p.height.windows_of(at.h);
  const window_range width = p.width.windows_of(at.w);
  const std::int32_t own = p.number(at.d, at.h, at.w);
  image_real<T> sum = 0;
  for (std::int32_t d = depth.first; d < depth.end; ++d) {
    for (std::int32_t h = height.first; h < height.end; ++h) {
      for (std::int32_t w = width.first; w < width.end; ++w) {
        const image_place window{.n = at.n, .c = at.c, .d = d, .h = h, .w = w};
        if (p.places.elements<std::int32_t>()[window.in(p.places)] == own)
          sum += real_of(p.response.elements<T>()[window.in(p.response)]);
      }
    }
  }
  p.image.elements<T>()[at.in(p.image)] = element_of<T>(sum);
}

template <class R>
adaptive_maxima operands_of(const R& r, const any_tensor& image, const any_tensor& response,
                            const any_tensor& written) {
  adaptive_maxima p;
  static_cast<average_operands<adaptive_windows>&>(p) =
      windows_between<adaptive_windows>(image, response);
  p.image = image_view(image);
  p.response = image_view(response);
  if (!r.places.null()) p.places = image_view(r.places);
  const bool inside = channels_are_inside(image_extents(image), p.image);
  p.each = image_places(image_extents(written), inside, 1, 1);
  p.lanes = !inside && taps_of_window(p) >= long_window ? 32 : 1;
  return p;
}

result<void> forward(const dnn::adaptive_max_pool_forward& r, lane& where) {
  if (r.y.empty()) return {};
  const adaptive_maxima p = operands_of(r, r.x, r.y, r.y);
  return dnn::for_image_type(r.x.type(), [&]<class T>(T) {
    return launch(adaptive_max<T>, blocks_for(p.each.count * p.lanes), image_threads,
                  where.stream(), p);
  });
}
result<void> backward(const dnn::adaptive_max_pool_backward& r, lane& where) {
  if (r.dx.empty()) return {};
  const adaptive_maxima p = operands_of(r, r.dx, r.dy, r.dx);
  return dnn::for_image_type(r.dx.type(), [&]<class T>(T) {
    return launch(adaptive_max_gradient<T>, blocks_for(p.each.count), image_threads, where.stream(),
                  p);
  });
}

const plugin_operations operations([](operation_table& table) {
  add<dnn::adaptive_max_pool_forward>(table, forward);
  add<dnn::adaptive_max_pool_backward>(table, backward);
});

}  // namespace
}  // namespace troupe::cuda
