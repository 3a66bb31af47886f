// Sorts and reductions on the CPU backend, beside the standard library and a plain loop in this
// program.

#include "rates.hpp"

#include <troupe/device/device.hpp>
#include <troupe/primitives/reductions.hpp>
#include <troupe/primitives/sorting.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;

/// Sums in lanes that the compiler turns into vectors.
float plain_sum(std::span<const float> x) {
  constexpr std::size_t lanes = 32;
  std::array<float, lanes> sums{};
  std::size_t i = 0;
  for (; i + lanes <= x.size(); i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane)
      sums.at(lane) += x[i + lane];
  }
  float sum = 0;
  for (const float one : sums)
    sum += one;
  for (; i < x.size(); ++i)
    sum += x[i];
  return sum;
}

void measure_all(report& out, device cpu) {
  constexpr std::int64_t count = std::int64_t{1} << 22;
  const std::string size = "2^22";
  const std::vector<float> numbers = random_numbers(count);
  const auto x = cpu.tensor<float>({count}).value();
  const auto y = cpu.tensor<float>({count}).value();
  cpu.copy(std::span(numbers), x).get();
  const library_actor lane = cpu.library("primitives");
  std::vector<float> sorted(numbers.size());
  measure_rates(
      out, "sort f32 " + size, "std::sort", static_cast<double>(count), 1,
      [&] {
        std::ranges::copy(numbers, sorted.begin());
        std::ranges::sort(sorted);
      },
      [&] { lane.ask(primitives::sort{.x = x, .y = y}).get(); });

  volatile float kept = 0;
  measure_rates(
      out, "sum f32 " + size, "a loop in lanes", static_cast<double>(count), 0.9,
      [&] { kept = plain_sum(numbers); },
      [&] { (void)lane.ask(primitives::reduce{.x = x}).get(); });
  measure_rates(
      out, "maximum f32 " + size, "std::max_element", static_cast<double>(count), 1,
      [&] { kept = *std::ranges::max_element(numbers); },
      [&] {
        (void)lane.ask(primitives::reduce{.x = x, .op = primitives::combination::maximum}).get();
      });

  constexpr std::int64_t rows = 256;
  const auto matrix = x.reshape({rows, count / rows}).value();
  const auto best = cpu.tensor<float>({rows, 10}).value();
  measure_rates(
      out, "top_k 10 f32 256 x 2^14", "a request for each row", static_cast<double>(count), 1,
      [&] {
        for (std::int64_t row = 0; row < rows; ++row)
          lane.ask(primitives::top_k{.x = matrix.slice(0, row, row + 1).value(),
                                     .values = best.slice(0, row, row + 1).value()})
              .get();
      },
      [&] { lane.ask(primitives::top_k{.x = matrix, .values = best}).get(); });
}

}  // namespace

int main() {
  report out("primitives: sorts and reductions on the CPU backend");
  troupe::system system;
  const device cpu = system.device(0, {.backend = backend_kind::cpu});
  cpu.wait_until_ready().value();
  measure_all(out, cpu);
  return out.finish();
}
