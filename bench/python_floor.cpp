// C++'s times for the measurements of `./dev bench python`: one JSON line, for that program.

#include "samples.hpp"

#include <troupe/device/device.hpp>
#include <troupe/lane/marker.hpp>

#include <cstdio>
#include <vector>

int main() {
  using namespace troupe;
  troupe::system system;
  device_config config;
  config.mailbox_capacity = 16'384;
  config.full = when_full::wait;
  device gpu = system.device(0, config);
  if (!gpu.wait_until_ready()) return 1;
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
