// A pipeline of three stages (copy in, product, copy out) with four items in flight, beside three
// streams with events by hand.

#include "gpu/raw/raw.hpp"
#include "gpu/side_by_side.hpp"
#include "raw_pipeline.hpp"

#include <troupe/blas/level3.hpp>
#include <troupe/pipeline.hpp>
#include <troupe/troupe.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;

constexpr int in_flight = 4;
constexpr int items = 32;

void must_agree(const std::vector<float>& ours, const std::vector<float>& by_hand) {
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (std::abs(ours[i] - by_hand[i]) > 1e-2F * std::max(1.F, std::abs(by_hand[i])))
      throw std::runtime_error(fmt::format("element {}: {} and {}", i, ours[i], by_hand[i]));
  }
}

void measure(report& out, device& gpu, std::int64_t n) {
  const auto elements = static_cast<std::size_t>(n * n);
  std::vector<float> w(elements);
  std::vector<float> from(elements * items);
  std::vector<float> by_hand(elements * items);
  std::vector<float> ours(elements * items);
  for (std::size_t i = 0; i < from.size(); ++i)
    from[i] = static_cast<float>(i % 17) - 8;
  for (std::size_t i = 0; i < elements; ++i)
    w[i] = static_cast<float>(i % 5) - 2;

  raw::pipeline floor(static_cast<int>(n), in_flight, w.data());
  auto weights = gpu.tensor<float>({n, n}).value();
  gpu.copy(w, weights).get();
  struct frame {
    tensor<float> x, c;
    std::size_t number = 0;
  };
  auto flow =
      pipeline_of<std::size_t>({.in_flight = in_flight, .waiting = items},
                               [&] {
                                 return frame{gpu.tensor<float>({n, n}).value(),
                                              gpu.tensor<float>({n, n}).value()};
                               })
          .stage("upload",
                 [&](frame& f, std::size_t& item) {
                   f.number = item;
                   return gpu.copy(std::span<const float>(from.data() + item * elements, elements),
                                   f.x);
                 })
          .stage("multiply",
                 [&](frame& f) { return gpu.ask(blas::gemm{.a = f.x, .b = weights, .c = f.c}); })
          .stage("download",
                 [&](frame& f) {
                   return gpu.copy(f.c,
                                   std::span<float>(ours.data() + f.number * elements, elements));
                 })
          .last("number", [](frame& f) { return f.number; });
  const auto run_ours = [&] {
    std::vector<future<std::size_t>> all;
    all.reserve(items);
    for (std::size_t i = 0; i < items; ++i)
      all.push_back(flow.push(std::size_t{i}));
    for (auto& one : all)
      (void)one.get();
  };
  const auto run_by_hand = [&] { floor.run(from.data(), by_hand.data(), items); };
  run_ours();
  run_by_hand();
  must_agree(ours, by_hand);
  auto times = take_in_turn({.blocks = 20, .warm_up = 2, .per_block = 10, .moves = false},
                            run_by_hand, run_ours);
  add_rate(out, times, items,
           {.name = fmt::format("pipeline, copy in, sgemm {}, copy out, 4 in flight", n),
            .reference = "three streams and events",
            .unit = "items/s",
            .median = ratio_at_least(0.95)});
}

}  // namespace

int main() {
  report out("pipelines on a GPU, beside three streams and events by hand");
  section(out, "pipeline", [&] {
    (void)raw::open_device();
    troupe::system system;
    device gpu = system.device(0, {.backend = backend_kind::cuda});
    gpu.wait_until_ready().value();
    for (const std::int64_t n : {256, 1024, 2048})
      measure(out, gpu, n);
  });
  return out.finish();
}
