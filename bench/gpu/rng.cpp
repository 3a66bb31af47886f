// The cost of random numbers through Troupe, beside cuRAND's philox called directly.

#include "gpu/raw/raw_rng.hpp"
#include "side_by_side.hpp"

#include <troupe/lane/marker.hpp>
#include <troupe/rng/continuous.hpp>

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;

constexpr std::int64_t count = std::int64_t{1} << 26;
constexpr std::size_t loop = 200;  // requests of a pipelined run

/// The error of the mean of the drawn numbers, in standard errors.
double deviation_of_mean(device gpu, const tensor<float>& drawn, double mean, double deviation) {
  std::vector<float> values(static_cast<std::size_t>(drawn.count()));
  gpu.copy(drawn, std::span(values)).get();
  double sum = 0;
  for (const float one : values)
    sum += one;
  const auto n = static_cast<double>(values.size());
  return std::abs(sum / n - mean) / (deviation / std::sqrt(n));
}

template <class Request, class Raw>
void measure(report& out, device gpu, const std::string& name, double mean, double deviation,
             Raw&& draw) {
  raw::stream stream;
  raw::generator theirs(stream);
  const raw::memory there(raw::memory::place::device, count * sizeof(float));
  auto to = gpu.tensor<float>({count}).value();
  const library_actor lane = gpu.library("rng");
  rng::generator ours({.seed = 20261122});
  auto times = take_in_turn(
      {.blocks = 30, .warm_up = 1, .per_block = 2},
      [&] {
        for (std::size_t i = 0; i < loop; ++i)
          draw(theirs, static_cast<float*>(there.address()));
        stream.synchronize();
      },
      [&] {
        for (std::size_t i = 0; i < loop; ++i)
          lane.tell(ours.draw(Request{.to = to})).value();
        lane.ask(troupe::lane::marker{}).get();
      });
  add_rate(out, times, static_cast<double>(count) * loop * 1e-9,
           {.name = name + " f32 2^26",
            .reference = "cuRAND",
            .unit = "1e9/s",
            .median = ratio_at_least(0.99)});
  out.add({name + " f32 2^26, mean in standard errors",
           deviation_of_mean(gpu, to, mean, deviation),
           "",
           "",
           {},
           at_most(6)});
}

}  // namespace

int main() {
  report out("gpu_rng: random numbers through Troupe, beside cuRAND called directly");
  section(out, "everything", [&] {
    fmt::print("{}\n", raw::open_device());
    troupe::system system;
    const device gpu = system.device(0, {.backend = backend_kind::cuda, .full = when_full::wait});
    wait_until_settled(gpu, true);
    section(out, "uniform", [&] {
      measure<rng::uniform>(out, gpu, "uniform", 0.5, std::sqrt(1.0 / 12),
                            [](auto& from, float* to) { from.uniform(to, count); });
    });
    section(out, "normal", [&] {
      measure<rng::normal>(out, gpu, "normal", 0, 1,
                           [](auto& from, float* to) { from.normal(to, count); });
    });
  });
  return out.finish();
}
