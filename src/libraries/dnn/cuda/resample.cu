#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/executor.hpp"
#include "libraries/dnn/cuda/images/averages.cuh"

#include <troupe/dnn/resample.hpp>

#include <algorithm>
#include <array>

namespace troupe::cuda {
namespace {

using dnn::interpolated_samples;
using dnn::sampled_axis;
using dnn::tabled_samples;

struct sampled_space {
  std::array<sampled_axis, dnn::most_space> axes;
  std::array<tabled_samples, dnn::most_space> samples;

  /// Entries of the longest tables.
  [[nodiscard]] std::int32_t longest() const noexcept {
    std::int32_t most = 1;
    for (const sampled_axis& axis : axes)
      most = std::max({most, axis.in, axis.out});
    return most;
  }
};

template <class Real>
__global__ void __launch_bounds__(image_threads)
    fill_tables(const __grid_constant__ sampled_space space) {
  const std::int64_t i = flat_thread();
#pragma unroll 1
  for (std::size_t d = 0; d < dnn::most_space; ++d) {
    const sampled_axis& axis = space.axes[d];
    if (i < axis.in || i < axis.out)
      space.samples[d].fill<Real>(axis, static_cast<std::int32_t>(i));
  }
}

/// Weights in tables, which are filled first.
template <class R>
result<void> run_tabled(const R& r, const any_tensor& image, const any_tensor& response,
                        bool backward, lane& where) {
  if ((backward ? image : response).empty()) return {};
  sampled_space space{.axes = dnn::sampled_axes(r, image, response), .samples = {}};
  const bool wide = image.type() == dtype::f64;
  call_frame c(where);
  struct tables {
    frame_array<tap_range> taps;
    frame_array<window_range> windows;
    frame_array<std::byte> factors;
  };
  std::array<tables, dnn::most_space> all;
  for (std::size_t d = 0; d < all.size(); ++d) {
    const tabled_samples& own = space.samples[d] = tabled_samples(space.axes[d]);
    all[d] = {.taps = c.array<tap_range>(own.out),
              .windows = c.array<window_range>(own.in),
              .factors = c.bytes(std::int64_t{own.out} * own.most_taps * (wide ? 8 : 4))};
  }
  TRY(c.begin());
  for (std::size_t d = 0; d < all.size(); ++d) {
    space.samples[d].taps = all[d].taps;
    space.samples[d].windows = all[d].windows;
    space.samples[d].factors = all[d].factors;
  }
  TRY(launch(wide ? fill_tables<double> : fill_tables<float>, blocks_for(space.longest()),
             image_threads, where.stream(), space));
  average_operands<tabled_samples> p;
  p.depth = space.samples[0];
  p.height = space.samples[1];
  p.width = space.samples[2];
  return run_average(p, image, response, backward, where);
}

template <class R>
result<void> resample(const R& r, const any_tensor& image, const any_tensor& response,
                      bool backward, lane& where) {
  if (!interpolated_samples::are(r)) return run_tabled(r, image, response, backward, where);
  return run_average(windows_between<interpolated_samples>(image, response, r.interpolation), image,
                     response, backward, where);
}

result<void> forward(const dnn::resample_forward& r, lane& where) {
  return resample(r, r.x, r.y, false, where);
}
result<void> backward(const dnn::resample_backward& r, lane& where) {
  return resample(r, r.dx, r.dy, true, where);
}

const plugin_operations operations([](operation_table& table) {
  add<dnn::resample_forward>(table, forward);
  add<dnn::resample_backward>(table, backward);
});

}  // namespace
}  // namespace troupe::cuda
