// Trains a network on two devices: each has half of every batch, and gradients are averaged while
// the backward pass goes on. Then the same with a worker that is killed in the middle of a step,
// and once more on one device.
//
//   example_data_parallel

#include "network.hpp"

#include <troupe/device/world.hpp>
#include <troupe/parallel.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <iostream>
#include <random>

namespace {

using troupe::any_tensor;

constexpr std::int64_t batch = 128;
constexpr std::array<std::int64_t, 4> widths{64, 256, 128, 10};
constexpr int steps = 40;
constexpr std::size_t disturbed_step = 20;
constexpr double learning_rate = 0.2;
constexpr std::int64_t bucket_bytes = 96 << 10;  // small, so that there are several

/// The examples of all steps: which of the first ten numbers is the greatest?
struct examples {
  std::vector<float> x;
  std::vector<std::int32_t> targets;

  examples() {
    std::mt19937 random(2);
    x.resize(static_cast<std::size_t>(batch * widths[0]));
    for (float& one : x)
      one = std::ldexp(float(random()), -31) - 1;
    for (auto row = x.begin(); row != x.end(); row += widths[0])
      targets.push_back(std::int32_t(std::max_element(row, row + widths.back()) - row));
  }
};

/// The loss of each example in each step.
std::vector<float> train(const troupe::world& world, const examples& all, bool with_kill) {
  const std::size_t ranks = world.size();
  const auto rows = batch / std::int64_t(ranks);
  const auto rows_of = [&](auto& numbers, std::size_t rank) {
    const std::size_t count = numbers.size() / ranks;
    return std::span(numbers).subspan(rank * count, count);
  };
  const auto drawn = data_parallel::make_parameters(world.rank(0), widths);
  auto weights = troupe::parallel::replicate(world, drawn).value();
  auto buckets =
      troupe::parallel::gradient_buckets::create(world, drawn, {.bytes = bucket_bytes}).value();
  std::vector<data_parallel::network> nets;
  std::vector<any_tensor> x, targets, losses;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    troupe::device gpu = world.rank(rank);
    nets.emplace_back(gpu, weights.on[rank]);
    x.push_back(gpu.tensor<float>({rows, widths[0]}).value());
    targets.push_back(gpu.tensor<std::int32_t>({rows}).value());
    losses.push_back(gpu.tensor<float>({steps, rows}).value());
    gpu.copy(rows_of(all.x, rank), x[rank]).get();
    gpu.copy(rows_of(all.targets, rank), targets[rank]).get();
  }
  // region: step
  for (std::size_t step = 0; step < steps; ++step) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const auto i = std::int64_t(step);
      const auto loss = losses[rank].slice(0, i, i + 1).value().reshape({rows}).value();
      nets[rank].forward(x[rank], targets[rank], loss);
    }
    for (std::size_t layer = nets[0].layers(); layer-- > 0;) {
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        const std::size_t w = 2 * layer, b = w + 1;
        nets[rank].backward(layer, buckets.gradient(rank, w), buckets.gradient(rank, b));
        buckets.sent(rank, b).value();
        buckets.sent(rank, w).value();  // the last of its bucket: that is averaged from here on
      }
      if (with_kill && step == disturbed_step && layer == 1) {
        if (const auto worker = world.rank(ranks - 1).worker_pid()) kill(*worker, SIGKILL);
      }
    }
    for (std::size_t rank = 0; rank < ranks; ++rank)
      nets[rank].step([&](std::size_t i) { return buckets.average(rank, i); }, learning_rate);
  }
  // endregion: step
  std::vector<float> got(static_cast<std::size_t>(steps * batch));
  std::vector<float> of_rank(got.size() / ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    world.rank(rank).copy(losses[rank], of_rank).get();
    const auto count = std::size_t(rows);
    for (std::size_t step = 0; step < steps; ++step)
      std::ranges::copy(std::span(of_rank).subspan(step * count, count),
                        got.begin() + std::ptrdiff_t(step * batch + rank * count));
  }
  return got;
}

int run() {
  troupe::system system;
  const troupe::device_config config{.backend = troupe::backend_kind::cpu};
  const troupe::world both = system.world({system.device(0, config), system.device(1, config)});
  const examples all;
  const auto on_two = train(both, all, false);
  const std::uint64_t before = both.rank(1).generation();
  const auto disturbed = train(both, all, true);
  const std::uint64_t lost = both.rank(1).generation() - before;
  const auto on_one = train(both.subset({0}), all, false);

  float most = 0;
  for (std::size_t i = 0; i < on_one.size(); ++i)
    most = std::max(most, std::abs(on_one[i] - on_two[i]));
  const auto mean = [](auto first) {
    double sum = 0;
    for (std::int64_t i = 0; i < batch; ++i)
      sum += double(*first++);
    return sum / batch;
  };
  const double begin = mean(on_two.begin()), end = mean(on_two.end() - batch);
  std::cout << "loss " << begin << " -> " << end << "; on one device at most " << most
            << " different\n"
            << lost << " worker lost in the middle of a step, losses "
            << (on_two == disturbed ? "the same to the bit\n" : "NOT the same\n");
  return on_two == disturbed && lost == 1 && most < 1e-3F && end < begin / 2 ? 0 : 1;
}

}  // namespace

int main() try { return run(); } catch (const troupe::failure& failure) {
  std::cerr << failure.what() << '\n';
  return 1;
}
