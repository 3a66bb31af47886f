#include "backend/cuda/context/executor.hpp"
#include "libraries/dnn/cuda/images/averages.cuh"
#include "libraries/dnn/cuda/images/narrow_windows.cuh"
#include "libraries/dnn/shared/pooling_windows.hpp"

namespace troupe::cuda {
namespace {

using dnn::adaptive_windows;
using dnn::fixed_windows;

// Each thread takes `C` narrow windows of a line.
template <class T, class Narrow, int C>
__global__ void __launch_bounds__(image_threads, occupied)
    average_of_narrow(const __grid_constant__ average_operands<fixed_windows> p) {
  using real = image_real<T>;
  const std::int64_t flat = flat_thread();
  if (flat >= p.each.count) return;
  image_place at = p.each.at(flat);
  const std::int32_t columns = p.each.columns_end(at, p.width.out) - at.w;
  const tap_range depth = p.depth.taps_of(at.d);
  std::int32_t divisors[C];
#pragma unroll
  for (int c = 0; c < C; ++c) {
    const tap_range taps = p.width.taps_of(at.w + c);
    divisors[c] = taps.empty() ? 1 : p.width.divisor(taps);
  }
  const T* const plane = p.image.elements<T>() + at.n * p.image.n_step + at.c * p.image.c_step;
  const std::int32_t end = p.each.lines_end(at, p.height.out);
  T* response = p.response.elements<T>() + at.in(p.response);
#pragma unroll 1
  for (; at.h < end; ++at.h) {
    const tap_range height = p.height.taps_of(at.h);
    real sums[C][1] = {};
    for (std::int32_t td = depth.first; td < depth.end; ++td) {
      for (std::int32_t th = height.first; th < height.end; ++th) {
        real all[Narrow::places(C)];
        load_windows<T, Narrow, C>(
            plane + (depth.start + std::int64_t{td} * p.depth.dilation) * p.image.steps[0] +
                (height.start + std::int64_t{th} * p.height.dilation) * p.image.steps[1],
            at.w, p.width.in, real{0}, all);
#pragma unroll
        for (int t = 0; t < Narrow::window; ++t) {
#pragma unroll
          for (int c = 0; c < C; ++c)
            sums[c][0] += all[c * Narrow::stride + t];
        }
      }
    }
    const real lines = depth.empty() || height.empty()
                           ? real{1}
                           : static_cast<real>(p.depth.divisor(depth)) *
                                 static_cast<real>(p.height.divisor(height));
#pragma unroll
    for (int c = 0; c < C; ++c)
      sums[c][0] /= lines * static_cast<real>(divisors[c]);
    store_columns<T, 1, C>(sums, response, p.response.steps[2], columns, p.aligned);
    response += p.response.steps[1];
  }
}

template <class R>
average_operands<fixed_windows> windows_of(const R& r) {
  const dnn::pooling pooling = dnn::pooling_of(r);
  average_operands<fixed_windows> p;
  p.depth = dnn::windows_along(pooling, 0);
  p.height = dnn::windows_along(pooling, 1);
  p.width = dnn::windows_along(pooling, 2);
  return p;
}
result<void> forward(const dnn::average_pool_forward& r, lane& where) {
  if (r.y.empty()) return {};
  auto p = windows_of(r);
  p.image = image_view(r.x);
  p.response = image_view(r.y);
  const image_extents of(r.y);
  return dnn::for_image_type(r.x.type(), [&]<class T>(T) -> result<void> {
    const auto narrow = [&]<class Narrow, class Count>(Narrow, Count) {
      constexpr int count = Count::value;
      p.each = image_places(of, false, 1, count, lines_each(of));
      p.aligned = of.space[2] % count == 0 && lines_align(p.response, count, sizeof(T));
      return launch(average_of_narrow<T, Narrow, count>, blocks_for(p.each.count), image_threads,
                    where.stream(), p);
    };
    if (!channels_are_inside(of, p.image)) {
      if (auto done = with_narrow<T>(p.width, p.image, narrow)) return *std::move(done);
    }
    return run_average(p, r.x, r.y, false, where);
  });
}
result<void> backward(const dnn::average_pool_backward& r, lane& where) {
  return run_average(windows_of(r), r.dx, r.dy, true, where);
}
result<void> adaptive_forward(const dnn::adaptive_average_pool_forward& r, lane& where) {
  return run_average(windows_between<adaptive_windows>(r.x, r.y), r.x, r.y, false, where);
}
result<void> adaptive_backward(const dnn::adaptive_average_pool_backward& r, lane& where) {
  return run_average(windows_between<adaptive_windows>(r.dx, r.dy), r.dx, r.dy, true, where);
}
const plugin_operations operations([](operation_table& table) {
  add<dnn::average_pool_forward>(table, forward);
  add<dnn::average_pool_backward>(table, backward);
  add<dnn::adaptive_average_pool_forward>(table, adaptive_forward);
  add<dnn::adaptive_average_pool_backward>(table, adaptive_backward);
});

}  // namespace
}  // namespace troupe::cuda
