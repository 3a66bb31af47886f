// A data-parallel step of a network of linear layers on all GPUs there are: averages beside the
// backward pass and behind it, in place and not, how it scales from one GPU, and a step in which a
// worker is killed. torch/data_parallel_torch.py measures PyTorch's DistributedDataParallel for the
// same network, in the same run. On the CPU backend, of two ranks, the network is small, to see
// that all is well.

#include "data_parallel/network.hpp"
#include "report.hpp"
#include "samples.hpp"

#include <troupe/parallel.hpp>

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;
using data_parallel::network;

struct sizes {
  std::int64_t rows;  // a rank
  std::int64_t width;
  std::size_t layers;
  int steps;  // in a row
  int turns;
};
constexpr sizes of_gpus{.rows = 4096, .width = 4096, .layers = 8, .steps = 20, .turns = 7};
constexpr sizes of_rehearsal{.rows = 32, .width = 256, .layers = 4, .steps = 10, .turns = 3};

/// When averages are sent.
enum class averages { beside, behind, never };

class training {
 public:
  training(const world& all, const sizes& s, bool out_of_place) : world_(all), sizes_(s) {
    const std::vector<std::int64_t> widths(s.layers + 1, s.width);
    const auto drawn = data_parallel::make_parameters(all.rank(0), widths);
    const auto weights = parallel::replicate(all, drawn).value();
    buckets_.emplace(
        parallel::gradient_buckets::create(all, drawn, {.out_of_place = out_of_place}).value());
    std::mt19937 random(2);
    std::normal_distribution<float> number;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      device on = all.rank(rank);
      nets_.emplace_back(on, weights.on[rank], blas::math_mode::tf32);
      x_.push_back(on.tensor<float>({s.rows, s.width}).value());
      targets_.push_back(on.tensor<std::int32_t>({s.rows}).value());
      losses_.push_back(on.tensor<float>({s.rows}).value());
      std::vector<float> numbers(static_cast<std::size_t>(s.rows * s.width));
      std::vector<std::int32_t> classes(static_cast<std::size_t>(s.rows));
      for (float& one : numbers)
        one = number(random);
      for (std::int32_t& one : classes)
        one = static_cast<std::int32_t>(random() % static_cast<unsigned>(s.width));
      on.copy(numbers, x_[rank]).get();
      on.copy(classes, targets_[rank]).get();
    }
  }

  /// Asks for a step; a worker is killed in the middle if so wished.
  void step(averages when, bool with_kill = false) {
    const std::size_t ranks = world_.size();
    for (std::size_t rank = 0; rank < ranks; ++rank)
      nets_[rank].forward(x_[rank], targets_[rank], losses_[rank]);
    for (std::size_t layer = sizes_.layers; layer-- > 0;) {
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        const std::size_t w = 2 * layer, b = w + 1;
        nets_[rank].backward(layer, buckets_->gradient(rank, w), buckets_->gradient(rank, b));
        if (when == averages::beside) sent(rank, layer);
      }
      if (with_kill && layer == sizes_.layers / 2) {
        if (const auto worker = world_.rank(ranks - 1).worker_pid()) ::kill(*worker, SIGKILL);
      }
    }
    if (when == averages::behind) {
      for (std::size_t rank = 0; rank < ranks; ++rank)
        (void)world_.rank(rank).drain(std::chrono::seconds(60));
      for (std::size_t layer = sizes_.layers; layer-- > 0;) {
        for (std::size_t rank = 0; rank < ranks; ++rank)
          sent(rank, layer);
      }
    }
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      nets_[rank].step(
          [&](std::size_t i) {
            return when == averages::never ? buckets_->gradient(rank, i)
                                           : buckets_->average(rank, i);
          },
          1e-3);
    }
  }
  /// Waits for all; the last parameters of rank 0, as a witness of every bit before.
  std::vector<float> finish() {
    std::vector<float> got(static_cast<std::size_t>(sizes_.width));
    for (std::size_t rank = world_.size(); rank-- > 0;)
      world_.rank(rank).copy(nets_[rank].parameters().back(), got).get();
    return got;
  }

 private:
  void sent(std::size_t rank, std::size_t layer) {
    buckets_->sent(rank, 2 * layer + 1).value();
    buckets_->sent(rank, 2 * layer).value();
  }

  world world_;
  sizes sizes_;
  std::optional<parallel::gradient_buckets> buckets_;
  std::vector<network> nets_;
  std::vector<any_tensor> x_, targets_, losses_;
};

double step_ms(training& of, const sizes& s, averages when) {
  samples times;
  for (int turn = 0; turn <= s.turns; ++turn) {
    const auto begin = bench::clock::now();
    for (int i = 0; i < s.steps; ++i)
      of.step(when);
    (void)of.finish();
    if (turn > 0) times.add(bench::clock::now() - begin);
  }
  return times.median() / s.steps / 1e3;
}

void measure_kills(report& out, const world& all, const sizes& s, double undisturbed_ms) {
  const auto run = [&](bool with_kill) {
    training one(all, s, false);
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      while (!all.rank(rank).health().standby_ready)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    one.step(averages::beside);
    (void)one.finish();
    const auto begin = bench::clock::now();
    for (int i = 0; i < s.steps; ++i)
      one.step(averages::beside, with_kill && i == s.steps / 2);
    auto bits = one.finish();
    const std::chrono::duration<double, std::milli> took = bench::clock::now() - begin;
    return std::pair(std::move(bits), took.count());
  };
  const auto reference = run(false).first;
  samples late;
  for (int trial = 0; trial < 10; ++trial) {
    const auto [bits, took] = run(true);
    if (bits != reference) return out.could_not_measure("a killed worker", "other bits");
    late.add(took * 1e3 - undisturbed_ms * s.steps * 1e3);
  }
  out.add({.name = "a step with a killed worker, late by, p50",
           .value = late.median() / 1e3,
           .unit = "ms",
           .target = at_most(200)});
  out.add({.name = "the same, worst of 10", .value = late.percentile(1) / 1e3, .unit = "ms"});
}

// A device on each GPU; two of the CPU backend.
std::vector<device> all_devices(troupe::system& system, const device_config& config) {
  std::vector<device> all{system.device(0, config)};
  const bool is_gpu = !all[0].description().uuid.empty();
  constexpr std::int32_t most = 8;
  for (std::int32_t ordinal = 1; ordinal < (is_gpu ? most : 2); ++ordinal) {
    try {
      all.push_back(system.device(ordinal, config));
    } catch (const failure& none) {
      if (none.code() != errc::device_unavailable) throw;
      break;
    }
  }
  return all;
}

int run() {
  report out("A data-parallel step on several devices");
  troupe::system system;
  const device_config config{.mailbox_capacity = 4096, .standby = true};  // 20 steps
  const std::vector<device> devices = all_devices(system, config);
  if (devices.size() < 2) {
    fmt::print("one GPU: nothing to measure\n");
    return 0;
  }
  const bool is_gpu = !devices[0].description().uuid.empty();
  const sizes s = is_gpu ? of_gpus : of_rehearsal;
  const world all = system.world(devices);
  const std::string of =
      fmt::format("{} ranks, {} layers of {}², {} rows", all.size(), s.layers, s.width, s.rows);
  double beside = 0, overlapped = 0;
  for (const bool out_of_place : {false, true}) {
    training one(all, s, out_of_place);
    const std::string how = out_of_place ? "out of place" : "in place";
    const double alone = step_ms(one, s, averages::never);
    overlapped = step_ms(one, s, averages::beside);
    if (!out_of_place) beside = overlapped;
    const auto line = [&](const std::string& what, double ms) {
      out.add({fmt::format("{}, {}, {}", what, how, of), ms, "ms", "without averages", alone});
    };
    line("step", overlapped);
    line("step, averages behind", step_ms(one, s, averages::behind));
  }
  {
    training one(all.subset({0}), s, true);
    const double single = step_ms(one, s, averages::never);
    const auto ranks = static_cast<double>(all.size());
    out.add({.name = "samples a second, as a multiple of one device's",
             .value = ranks * single / overlapped,
             .unit = "times",
             .target = is_gpu ? std::optional(at_least(0.9 * ranks)) : std::nullopt});
  }
  measure_kills(out, all, s, beside);
  return out.finish();
}

}  // namespace

int main() try { return run(); } catch (const std::exception& why) {
  fmt::print(stderr, "{}\n", why.what());
  return 1;
}
