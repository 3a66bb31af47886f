#include "libraries/dnn/cpu/lines/pooler.hpp"
#include "libraries/dnn/shared/sampled_axis.hpp"
#include "libraries/dnn/shared/samples.hpp"

#include <troupe/dnn/resample.hpp>
#include <troupe/plugin/static_registration.hpp>

#include <algorithm>

namespace troupe::cpu {
namespace {

using dnn::interpolated_samples;
using dnn::tabled_samples;

/// The tables of all axes, in memory of the lane.
template <class Real>
result<void> fill_tables(std::span<const dnn::sampled_axis> axes, std::span<tabled_samples> samples,
                         lane_context& lane) {
  std::size_t bytes = 0;
  const auto place_of = [&]<class E>(E, std::int64_t count) {
    const std::size_t at = bytes;
    bytes += (static_cast<std::size_t>(count) * sizeof(E) + 63) / 64 * 64;
    return at;
  };
  struct places {
    std::size_t taps, windows, factors;
  };
  std::array<places, dnn::most_space> at{};
  for (std::size_t d = 0; d < at.size(); ++d) {
    samples[d] = tabled_samples(axes[d]);
    const tabled_samples& s = samples[d];
    at[d] = {.taps = place_of(tap_range(), s.out),
             .windows = place_of(window_range(), s.in),
             .factors = place_of(Real(), std::int64_t{s.out} * s.most_taps)};
  }
  auto memory = lane.host_workspace(bytes);
  if (!memory) return std::move(memory).error();
  for (std::size_t d = 0; d < at.size(); ++d) {
    samples[d].taps = reinterpret_cast<tap_range*>(memory->data() + at[d].taps);
    samples[d].windows = reinterpret_cast<window_range*>(memory->data() + at[d].windows);
    samples[d].factors = memory->data() + at[d].factors;
    for (std::int32_t i = 0; i < std::max(samples[d].in, samples[d].out); ++i)
      samples[d].template fill<Real>(axes[d], i);
  }
  return {};
}

/// Calls `run` with the resampling of a request.
template <class R, class Run>
result<void> resample(const R& r, const any_tensor& image, const any_tensor& response,
                      lane_context& lane, Run run) {
  return dnn::for_image_type(image.type(), [&]<class T>(T) -> result<void> {
    const auto axes = dnn::sampled_axes(r, image, response);
    if (interpolated_samples::are(r)) {
      pooler<T, interpolated_samples> p;
      p.take(image, response);
      for (std::size_t d = 0; d < axes.size(); ++d)
        p.windows[d] = {axes[d].in, axes[d].out, r.interpolation};
      return run(p);
    }
    pooler<T, tabled_samples> p;
    p.take(image, response);
    auto filled = fill_tables<typename line_kernels<T>::real>(axes, p.windows, lane);
    return filled ? run(p) : filled;
  });
}

result<void> forward(const dnn::resample_forward& r, lane_context& lane) {
  return resample(r, r.x, r.y, lane, [&](const auto& p) { return p.average_forward(lane); });
}
result<void> backward(const dnn::resample_backward& r, lane_context& lane) {
  return resample(r, r.dx, r.dy, lane, [&](const auto& p) { return p.average_backward(lane); });
}

const plugin_operations resample_operations([](operation_table& table) {
  table.add<dnn::resample_forward>(forward, effort::by_size);
  table.add<dnn::resample_backward>(backward, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
