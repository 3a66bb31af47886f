// Sorts and reductions on the CPU backend, beside the standard library and a plain loop in this
// program.

#include "placement.hpp"
#include "report.hpp"
#include "samples.hpp"

#include <troupe/device/device.hpp>
#include <troupe/primitives/reductions.hpp>
#include <troupe/primitives/sorting.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;

constexpr int turns = 20;

std::vector<float> random_numbers(std::int64_t count) {
  std::mt19937 random(20261125);
  std::normal_distribution<float> number;
  std::vector<float> all(static_cast<std::size_t>(count));
  std::ranges::generate(all, [&] { return number(random); });
  return all;
}

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

/// Takes both in turn and adds the rates, in elements.
template <class Theirs, class Ours>
void measure(report& out, const std::string& name, const std::string& reference, double elements,
             double limit, Theirs&& theirs, Ours&& ours) {
  samples raw;
  samples own;
  bench::placement processors;
  for (int turn = 0; turn < turns; ++turn) {
    processors.move();
    theirs();
    raw.take(3, theirs);
    ours();
    own.take(3, ours);
  }
  out.add({name, elements / own.median() * 1e-3, "1e9/s", reference, elements / raw.median() * 1e-3,
           ratio_at_least(limit)});
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
  measure(
      out, "sort f32 " + size, "std::sort", static_cast<double>(count), 1,
      [&] {
        std::ranges::copy(numbers, sorted.begin());
        std::ranges::sort(sorted);
      },
      [&] { lane.ask(primitives::sort{.x = x, .y = y}).get(); });

  volatile float kept = 0;
  measure(
      out, "sum f32 " + size, "a loop in lanes", static_cast<double>(count), 0.9,
      [&] { kept = plain_sum(numbers); },
      [&] { (void)lane.ask(primitives::reduce{.x = x}).get(); });
  measure(
      out, "maximum f32 " + size, "std::max_element", static_cast<double>(count), 1,
      [&] { kept = *std::ranges::max_element(numbers); },
      [&] {
        (void)lane.ask(primitives::reduce{.x = x, .op = primitives::combination::maximum}).get();
      });
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
