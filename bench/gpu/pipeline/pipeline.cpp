// A pipeline of three stages (copy in, product, copy out) with four items in flight, beside three
// streams with events by hand, whose program enqueues everything at once. The program's data are in
// memory that the GPU reads and writes by itself, on both sides.

#include "gpu/raw/raw.hpp"
#include "gpu/side_by_side.hpp"
#include "raw_pipeline.hpp"

#include <troupe/blas/level3.hpp>
#include <troupe/memory/copy.hpp>
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
constexpr int slots = 8;  // places of the program's data; items take turns

void must_agree(std::span<const float> ours, std::span<const float> by_hand) {
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (std::abs(ours[i] - by_hand[i]) > 1e-2F * std::max(1.F, std::abs(by_hand[i])))
      throw std::runtime_error(fmt::format("element {}: {} and {}", i, ours[i], by_hand[i]));
  }
}

/// The program's data on our side.
struct host_data {
  host_data(device& gpu, std::int64_t n, const float* from) {
    for (int i = 0; i < slots; ++i) {
      in.push_back(gpu.host_tensor<float>({n, n}).value());
      out.push_back(gpu.host_tensor<float>({n, n}).value());
      std::copy_n(from + i * n * n, n * n, in.back().data());
    }
  }
  std::vector<tensor<float>> in;
  std::vector<tensor<float>> out;
};

struct frame {
  tensor<float> x, c;
  std::size_t slot = 0;
};

auto flow_of(device& gpu, std::int64_t n, const tensor<float>& weights, host_data& data) {
  // Copies in and copies out run at the same time.
  const library_actor uploads = gpu.library("memory").on_new_lane();
  const library_actor downloads = gpu.library("memory").on_new_lane();
  return pipeline_of<std::size_t>({.in_flight = in_flight, .waiting = items},
                                  [&gpu, n] {
                                    return frame{gpu.tensor<float>({n, n}).value(),
                                                 gpu.tensor<float>({n, n}).value()};
                                  })
      .stage("upload",
             [&data, uploads](frame& f, std::size_t& item) {
               f.slot = item % slots;
               return uploads.ask(memory::copy{.from = data.in[f.slot], .to = f.x});
             })
      .stage("multiply",
             [&gpu, weights](frame& f) {
               return gpu.ask(blas::gemm{.a = f.x, .b = weights, .c = f.c});
             })
      .stage("download",
             [&data, downloads](frame& f) {
               return downloads.ask(memory::copy{.from = f.c, .to = data.out[f.slot]});
             })
      .last("number", [](frame& f) { return f.slot; });
}

void measure(report& out, device& gpu, std::int64_t n) {
  const auto elements = static_cast<std::size_t>(n * n);
  const std::size_t all_bytes = elements * slots * sizeof(float);
  std::vector<float> w(elements);
  const raw::memory its_in(raw::memory::place::pinned, all_bytes);
  const raw::memory its_out(raw::memory::place::pinned, all_bytes);
  auto* const from = static_cast<float*>(its_in.address());
  auto* const to = static_cast<float*>(its_out.address());
  for (std::size_t i = 0; i < elements * slots; ++i)
    from[i] = static_cast<float>(i % 17) - 8;
  for (std::size_t i = 0; i < elements; ++i)
    w[i] = static_cast<float>(i % 5) - 2;

  raw::pipeline floor(static_cast<int>(n), in_flight, w.data());
  auto weights = gpu.tensor<float>({n, n}).value();
  gpu.copy(w, weights).get();
  host_data data(gpu, n, from);
  auto flow = flow_of(gpu, n, weights, data);
  const auto run_ours = [&] {
    std::vector<future<std::size_t>> all;
    all.reserve(items);
    for (std::size_t i = 0; i < items; ++i)
      all.push_back(flow.push(std::size_t{i}));
    for (auto& one : all)
      (void)one.get();
  };
  const auto run_by_hand = [&] { floor.run(from, to, slots, items); };
  run_ours();
  run_by_hand();
  for (std::size_t i = 0; i < slots; ++i)
    must_agree({data.out[i].data(), elements}, {to + i * elements, elements});
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
