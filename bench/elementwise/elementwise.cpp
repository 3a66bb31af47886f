// Maps and reductions on the CPU backend, beside loops written by hand for one function, on as many
// threads.

#include "elementwise/hand_fused_loops.hpp"
#include "rates.hpp"

#include <troupe/device/device.hpp>
#include <troupe/elementwise/map.hpp>
#include <troupe/elementwise/rows.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;
using elementwise::function;

/// Has each processor do its part of a loop, in threads that are started for it as ours are.
template <class Loop>
void shared_out(std::size_t count, Loop loop) {
  const std::size_t threads = std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < threads; ++i)
    others.emplace_back([=] { loop(count * i / threads, count / threads); });
  loop(std::size_t{0}, count / threads);
}

void measure_all(report& out, device cpu) {
  constexpr std::int64_t count = std::int64_t{1} << 24;
  const std::string size = " f32 2^24";
  const std::vector<float> xs = random_numbers(count);
  const std::vector<float> bs = random_numbers(count);
  std::vector<float> ys(xs.size());
  const auto x = cpu.tensor<float>({count}).value();
  const auto b = cpu.tensor<float>({count}).value();
  const auto y = cpu.tensor<float>({count}).value();
  const auto total = cpu.tensor<float>({1}).value();
  cpu.copy(std::span(xs), x).get();
  cpu.copy(std::span(bs), b).get();
  const library_actor lane = cpu.library("elementwise");
  const auto measure_map = [&](const std::string& name, auto loop, const function& what) {
    measure_rates(
        out, name + size, "a loop for it", static_cast<double>(count), 0.55,
        [&] {
          shared_out(xs.size(), [&](std::size_t first, std::size_t n) {
            loop(std::span(xs).subspan(first, n), std::span(bs).subspan(first, n),
                 std::span(ys).subspan(first, n));
          });
        },
        [&] { lane.ask(elementwise::map{.inputs = {x, b}, .outputs = {y}, .what = what}).get(); });
  };
  measure_map("silu(x + b)", silu_of_sum,
              function::of(2, [](auto in) { return silu(in[0] + in[1]); }));
  measure_map("2 x + b", multiply_add, function::of(2, [](auto in) { return in[0] * 2 + in[1]; }));

  // The order of a sum is fixed, so that one row is one thread's: so is the loop.
  const auto row_sum = function::of(1, [](auto in) { return elementwise::row_sum(in[0]); });
  volatile float kept = 0;
  measure_rates(
      out, "sum of one row" + size, "a loop in f32, one thread", static_cast<double>(count), 1,
      [&] { kept = sum(xs); },
      [&] {
        lane.ask(elementwise::rows{.inputs = {x}, .outputs = {total}, .what = row_sum}).get();
      });
}

}  // namespace

int main() {
  report out("elementwise: maps and reductions on the CPU backend");
  troupe::system system;
  const device cpu = system.device(0, {.backend = backend_kind::cpu});
  cpu.wait_until_ready().value();
  measure_all(out, cpu);
  return out.finish();
}
