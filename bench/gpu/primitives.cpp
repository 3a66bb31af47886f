// The cost of reductions, scans and sorts through Troupe, beside CUB called directly.

#include "gpu/raw/raw_primitives.hpp"
#include "side_by_side.hpp"

#include <troupe/lane/marker.hpp>
#include <troupe/primitives/reductions.hpp>
#include <troupe/primitives/scans.hpp>
#include <troupe/primitives/sorting.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;

constexpr std::int64_t count = std::int64_t{1} << 26;
constexpr std::int64_t top = 64;
constexpr std::size_t vector_bytes = count * sizeof(float);

std::vector<float> random_numbers() {
  std::mt19937 random(20261125);
  std::normal_distribution<float> number;
  std::vector<float> all(count);
  std::ranges::generate(all, [&] { return number(random); });
  return all;
}

/// The vectors of either side: keys and values, and the results.
struct ours {
  tensor<float> x, y, result, best;
  tensor<std::uint32_t> values, sorted_values;
  tensor<std::int64_t> indices;
  library_actor lane;

  ours(device gpu, std::span<const float> numbers)
      : x(gpu.tensor<float>({count}).value()),
        y(gpu.tensor<float>({count}).value()),
        result(gpu.tensor<float>({1}).value()),
        best(gpu.tensor<float>({top}).value()),
        values(gpu.tensor<std::uint32_t>({count}).value()),
        sorted_values(gpu.tensor<std::uint32_t>({count}).value()),
        indices(gpu.tensor<std::int64_t>({top}).value()),
        lane(gpu.library("primitives")) {
    gpu.copy(numbers, x).get();
  }
};
struct theirs {
  raw::stream stream;
  raw::cub_calls cub{stream, count};
  raw::memory x{raw::memory::place::device, vector_bytes};
  raw::memory y{raw::memory::place::device, vector_bytes};
  raw::memory values{raw::memory::place::device, vector_bytes};
  raw::memory sorted_values{raw::memory::place::device, vector_bytes};

  explicit theirs(std::span<const float> numbers) {
    stream.copy(x.address(), numbers.data(), vector_bytes);
    stream.synchronize();
  }
};

/// Runs both `loop` times in a row; `limit` is the least ratio of the rates.
template <class Raw, class Request>
void measure(report& out, theirs& there, ours& here, const std::string& name,
             const std::string& reference, std::size_t loop, double limit, Raw&& raw,
             const Request& request) {
  auto times = take_in_turn(
      {.blocks = 20, .warm_up = 1, .per_block = 2},
      [&] {
        for (std::size_t i = 0; i < loop; ++i)
          raw();
        there.stream.synchronize();
      },
      [&] {
        for (std::size_t i = 0; i < loop; ++i)
          here.lane.tell(request).value();
        here.lane.ask(troupe::lane::marker{}).get();
      });
  add_rate(out, times, static_cast<double>(count) * static_cast<double>(loop) * 1e-9,
           {.name = name + " f32 2^26",
            .reference = reference,
            .unit = "1e9/s",
            .median = ratio_at_least(limit)});
}

/// The k largest of each row, in one request and in one for each row. `x` holds all rows.
void measure_rows(report& out, ours& here, device gpu, std::int64_t rows, std::int64_t length,
                  std::int64_t k) {
  const any_tensor x =
      any_tensor(here.x).slice(0, 0, rows * length).value().reshape({rows, length}).value();
  const any_tensor values = gpu.tensor<float>({rows, k}).value();
  const any_tensor indices = gpu.tensor<std::int64_t>({rows, k}).value();
  constexpr int loop = 4;
  const auto finish = [&] { here.lane.ask(troupe::lane::marker{}).get(); };
  auto times = take_in_turn(
      {.blocks = 10, .warm_up = 1, .per_block = 2},
      [&] {
        for (std::int64_t row = 0; row < loop * rows; ++row) {
          const std::int64_t at = row % rows;
          here.lane
              .tell(primitives::top_k{.x = x.slice(0, at, at + 1).value(),
                                      .values = values.slice(0, at, at + 1).value(),
                                      .indices = indices.slice(0, at, at + 1).value()})
              .value();
        }
        finish();
      },
      [&] {
        for (int i = 0; i < loop; ++i)
          here.lane.tell(primitives::top_k{.x = x, .values = values, .indices = indices}).value();
        finish();
      });
  add_rate(out, times, static_cast<double>(loop * rows * length) * 1e-9,
           {.name = fmt::format("top_k {} f32 [{}, {}]", k, rows, length),
            .reference = "a request for each row",
            .unit = "1e9/s",
            .median = ratio_at_least(1)});
}

// PyTorch's times for these are from torch/primitives_torch.py.
void measure_all_rows(report& out, ours& here, device gpu) {
  measure_rows(out, here, gpu, 32, 1 << 20, 10);
  measure_rows(out, here, gpu, 64, 1 << 17, 50);
  measure_rows(out, here, gpu, 4096, 128, 8);
}

}  // namespace

int main() {
  report out("gpu_primitives: reductions, scans and sorts through Troupe, beside CUB");
  section(out, "everything", [&] {
    fmt::print("{}\n", raw::open_device());
    const std::vector<float> numbers = random_numbers();
    troupe::system system;
    const device gpu = system.device(0, {.backend = backend_kind::cuda, .full = when_full::wait});
    wait_until_settled(gpu, true);
    ours here(gpu, numbers);
    theirs there(numbers);
    const auto* const x = static_cast<const float*>(there.x.address());
    auto* const y = static_cast<float*>(there.y.address());
    const auto* const values = static_cast<const std::uint32_t*>(there.values.address());
    auto* const sorted_values = static_cast<std::uint32_t*>(there.sorted_values.address());

    section(out, "sum", [&] {
      measure(
          out, there, here, "sum", "CUB", 200, 0.95, [&] { there.cub.sum(x, y); },
          primitives::reduce{.x = here.x, .result = here.result});
    });
    section(out, "maximum", [&] {
      measure(
          out, there, here, "maximum", "CUB's sum", 200, 0.95, [&] { there.cub.sum(x, y); },
          primitives::reduce{
              .x = here.x, .result = here.result, .op = primitives::combination::maximum});
    });
    section(out, "scan", [&] {
      const auto cub = [&] { there.cub.inclusive_sum(x, y); };
      measure(out, there, here, "scan", "CUB", 100, 0.95, cub,
              primitives::scan{.x = here.x, .y = here.y});
      measure(out, there, here, "deterministic scan", "CUB's, which is not", 100, 0.6, cub,
              primitives::scan{.x = here.x, .y = here.y, .deterministic = true});
    });
    section(out, "sort", [&] {
      measure(
          out, there, here, "sort", "CUB", 20, 0.85, [&] { there.cub.sort(x, y); },
          primitives::sort{.x = here.x, .y = here.y});
    });
    section(out, "sort_pairs", [&] {
      measure(
          out, there, here, "sort_pairs", "CUB", 20, 0.95,
          [&] { there.cub.sort_pairs(x, values, y, sorted_values); },
          primitives::sort_pairs{.keys = here.x,
                                 .values = here.values,
                                 .sorted_keys = here.y,
                                 .sorted_values = here.sorted_values});
    });
    section(out, "top_k", [&] {
      measure(
          out, there, here, "top_k 64", "CUB's sort_pairs", 50, 2,
          [&] { there.cub.sort_pairs(x, values, y, sorted_values); },
          primitives::top_k{.x = here.x, .values = here.best, .indices = here.indices});
    });
    section(out, "top_k of rows", [&] { measure_all_rows(out, here, gpu); });
  });
  return out.finish();
}
