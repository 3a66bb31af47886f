// C++'s times for the measurements of `./dev bench python`: one JSON line, for those programs. With
// arguments, LENGTH and SIZE, those of a chain of products.

#include "samples.hpp"

#include <troupe/blas.hpp>
#include <troupe/device/device.hpp>
#include <troupe/lane/marker.hpp>
#include <troupe/memory/fill.hpp>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace {

using namespace troupe;

// Each product is the operand of the next one. Results are allocated as they are asked for, as in
// Python.
int measure_chain(device& gpu, int length, std::int64_t size) {
  const tensor<float> x = gpu.tensor<float>({size, size}).value();
  const tensor<float> w = gpu.tensor<float>({size, size}).value();
  for (const auto& one : {x, w})
    gpu.tell(memory::fill{.to = one, .value = 1 / static_cast<double>(size)}).value();
  const auto chain = [&](bool waits) {
    any_tensor last = x;
    future<void> answer;
    for (int i = 0; i < length; ++i) {
      any_tensor next = gpu.allocate(dtype::f32, {size, size}).value();
      answer = gpu.ask(blas::gemm{.a = last, .b = w, .c = next});
      if (waits) answer.get();
      last = std::move(next);
    }
    if (!waits) answer.get();
  };
  bench::samples at_each;
  bench::samples at_end;
  for (int i = 0; i < 100; ++i)
    chain(i % 2 == 0);
  at_each.take(1'500, [&] { chain(true); });
  at_end.take(1'500, [&] { chain(false); });
  std::printf("{\"chain_waiting_us\": %.3f, \"chain_us\": %.3f}\n", at_each.median(),
              at_end.median());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  troupe::system system;
  device_config config;
  config.mailbox_capacity = 16'384;
  config.full = when_full::wait;
  device gpu = system.device(0, config);
  if (!gpu.wait_until_ready()) return 1;
  if (argc == 3) return measure_chain(gpu, std::atoi(argv[1]), std::atoi(argv[2]));
  const auto lane = gpu.library("lane");

  bench::samples blocking;
  constexpr std::size_t warm_up = 2'000;
  for (std::size_t i = 0; i < warm_up; ++i)
    lane.ask(lane::marker{}).get();
  blocking.take(20'000, [&] { lane.ask(lane::marker{}).get(); });

  constexpr std::size_t batch = 5'000;
  constexpr std::size_t batches = 40;
  const auto begin = bench::clock::now();
  std::vector<future<void>> answers;
  for (std::size_t b = 0; b < batches; ++b) {
    answers.clear();
    for (std::size_t i = 0; i < batch; ++i)
      answers.push_back(lane.ask(lane::marker{}));
    for (future<void>& one : answers)
      one.get();
  }
  const double seconds = std::chrono::duration<double>(bench::clock::now() - begin).count();
  std::printf("{\"blocking_p50_us\": %.3f, \"blocking_p99_us\": %.3f, \"pipelined_per_s\": %.0f}\n",
              blocking.median(), blocking.p99(), static_cast<double>(batch * batches) / seconds);
  return 0;
}
