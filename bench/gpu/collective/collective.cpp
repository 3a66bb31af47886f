// The cost of collective operations of all GPUs there are (or of as many as are given), beside NCCL
// called directly, in one thread, on memory of cudaMalloc; and of a copy between two, beside
// cudaMemcpyPeerAsync. Each is sent many times without a wait between. The table at the end has
// every algorithm of all_reduce at each size, for the thresholds of wire/world_algorithms.hpp.
//
//   bench_gpu_collective [RANKS]
//
// TROUPE_BACKEND=cpu rehearses with three ranks and small sizes.

#include "gpu/collective/raw_nccl.hpp"
#include "gpu/count_argument.hpp"
#include "report.hpp"
#include "samples.hpp"

#include <troupe/collective.hpp>
#include <troupe/device/world.hpp>
#include <troupe/memory.hpp>
#include <troupe/troupe.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace {

using namespace troupe;
using namespace troupe::bench;
using operation = raw::nccl_ranks::operation;

constexpr std::int64_t KiB = 1024;
constexpr std::int64_t MiB = 1024 * KiB;

bool is_rehearsal() {
  const char* const backend = std::getenv("TROUPE_BACKEND");  // NOLINT(concurrency-mt-unsafe)
  return backend != nullptr && std::string_view(backend) == "cpu";
}
std::int64_t longest() { return is_rehearsal() ? MiB : 256 * MiB; }

/// One world of all ranks.
class ours {
 public:
  /// `algorithm` prescribes that of all_reduce; if it is empty, the table says.
  ours(std::size_t ranks, const std::string& algorithm, transport by)
      : gpus_(devices(ranks, algorithm)),
        world_(system_.world(gpus_, {.staging_bytes = 64 * MiB, .transport = by})),
        x_(world_.tensors<float>({longest() / 4}).value()),
        y_(world_.tensors<float>({longest() / 4}).value()) {
    for (const auto* all : {&x_, &y_}) {
      for (std::size_t rank = 0; rank < ranks; ++rank)
        world_.rank(rank).library("memory").ask(memory::fill{.to = (*all)[rank]}).get();
    }
    if (by != transport::nccl) return;
    const auto until = bench::clock::now() + std::chrono::seconds(30);
    while (world_.health().nccl.state != nccl_health::connection::ready) {
      if (bench::clock::now() > until)
        throw std::runtime_error("NCCL is not connected: " + world_.health().nccl.reason);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  [[nodiscard]] std::int64_t ranks() const { return static_cast<std::int64_t>(gpus_.size()); }

  void run(operation what, std::int64_t bytes, int times) {
    const auto x = first(x_, bytes), y = first(y_, bytes);
    const std::int64_t part = bytes / 4 / ranks() * 4;
    const auto x_part = first(x_, part), y_part = first(y_, part);
    const auto x_whole = first(x_, part * ranks()), y_whole = first(y_, part * ranks());
    const auto repeat = [&](const auto& request) {
      for (int i = 1; i < times; ++i)
        world_.tell(request).value();
      world_.ask(request).get();
    };
    switch (what) {
      case operation::all_reduce:
        return repeat(collective::all_reduce{.x = x, .y = y});
      case operation::all_reduce_in_place:
        return repeat(collective::all_reduce{.x = x, .y = x});
      case operation::reduce_scatter:
        return repeat(collective::reduce_scatter{.x = x_whole, .y = y_part});
      case operation::broadcast: {
        std::vector<any_tensor> root(gpus_.size());
        root[0] = x[0];
        return repeat(collective::broadcast{.x = root, .y = y});
      }
      case operation::all_gather:
        return repeat(collective::all_gather{.x = x_part, .y = y_whole});
      case operation::all_to_all:
        return repeat(collective::all_to_all{.x = x_whole, .y = y_whole});
      case operation::copy: {
        std::vector<future<void>> all;
        for (int i = 0; i < times; ++i)
          all.push_back(gpus_[1].copy(x[0], y[1]));
        for (auto& one : all)
          one.get();
        return;
      }
    }
  }
  /// Sends and does not wait: the program's part, in us.
  double publish_us(int times) {
    const auto x = first(x_, KiB), y = first(y_, KiB);
    const collective::all_reduce request{.x = x, .y = y};
    world_.ask(request).get();
    const auto begin = bench::clock::now();
    for (int i = 0; i < times; ++i)
      world_.tell(request).value();
    const std::chrono::duration<double, std::micro> took = bench::clock::now() - begin;
    world_.ask(request).get();
    return took.count() / times;
  }

 private:
  std::vector<device> devices(std::size_t ranks, const std::string& algorithm) {
    device_config config{.standby = false};
    config.backend = is_rehearsal() ? backend_kind::cpu : backend_kind::cuda;
    auto environment = std::make_shared<std::vector<std::string>>();
    for (char** one = environ; *one != nullptr; ++one)
      environment->emplace_back(*one);
    if (!algorithm.empty()) environment->push_back("TROUPE_COLLECTIVE_ALGORITHM=" + algorithm);
    config.worker_environment = environment;
    std::vector<device> all;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      all.push_back(system_.device(static_cast<std::int32_t>(rank), config));
    return all;
  }
  static per_rank<float> first(const per_rank<float>& of, std::int64_t bytes) {
    std::vector<tensor<float>> some;
    for (const auto& one : of)
      some.push_back(one.slice(0, 0, bytes / 4).value());
    return per_rank<float>(std::move(some));
  }

  troupe::system system_;
  std::vector<device> gpus_;
  world world_;
  per_rank<float> x_;
  per_rank<float> y_;
};

std::string text_of(std::int64_t bytes) {
  return bytes < MiB ? fmt::format("{} KiB", bytes / KiB) : fmt::format("{} MiB", bytes / MiB);
}

class measuring {
 public:
  measuring(report& to, std::size_t ranks)
      : to_(to),
        ranks_(ranks),
        nccl_(raw::nccl_ranks::make(static_cast<int>(ranks), static_cast<std::size_t>(longest()))) {
  }

  void compare(ours& all, const std::string& name, operation what, std::int64_t bytes,
               std::optional<target> wanted) {
    if (bytes > longest()) return;
    const int times = times_of(bytes);
    samples mine, theirs;
    const auto length = static_cast<std::size_t>(bytes);
    all.run(what, bytes, times);  // maps, loads, connects
    if (nccl_) nccl_->run(what, length, times);
    for (int turn = 0; turn < turns(); ++turn) {
      mine.take(1, [&] { all.run(what, bytes, times); });
      if (nccl_) theirs.take(1, [&] { nccl_->run(what, length, times); });
    }
    measurement made{.name = fmt::format("{} {}", name, text_of(bytes)),
                     .value = mine.middle() / times,
                     .unit = "us"};
    if (nccl_) {
      made.reference = what == operation::copy ? "cudaMemcpyPeerAsync" : "NCCL";
      made.reference_value = theirs.middle() / times;
      made.target = wanted;
    }
    to_.add(std::move(made));
  }
  // A group of figures. If one cannot be measured, the other groups are.
  template <class Measure>
  void group(const std::string& name, const std::string& algorithm, transport by, Measure measure) {
    try {
      ours all(ranks_, algorithm, by);
      measure(all);
    } catch (const std::exception& why) {
      to_.could_not_measure(name, why.what());
    }
  }

 private:
  static int times_of(std::int64_t bytes) {
    return static_cast<int>(std::clamp<std::int64_t>(longest() / bytes, 8, 400));
  }
  static int turns() { return is_rehearsal() ? 3 : 9; }

  report& to_;
  std::size_t ranks_;
  std::unique_ptr<raw::nccl_ranks> nccl_;
};

// The targets for two GPUs are those of issue and design; for more, of the table of thresholds.
target small_target(std::size_t ranks) { return ratio_at_most(ranks == 2 ? 0.75 : 1.0); }
target large_target(std::size_t ranks) { return ratio_at_most(ranks == 2 ? 0.95 : 1 / 0.97); }

void measure_operations(measuring& all, report& to, ours& one, std::size_t ranks) {
  to.add({.name = "send of an all_reduce, the program's part",
          .value = one.publish_us(200),
          .unit = "us",
          .target = ranks == 2 ? std::optional(at_most(2.2)) : std::nullopt});
  for (const std::int64_t bytes : {KiB, 8 * KiB, 64 * KiB, 256 * KiB, MiB}) {
    all.compare(
        one, "all_reduce", operation::all_reduce, bytes,
        ranks == 2 || bytes <= 64 * KiB ? std::optional(small_target(ranks)) : std::nullopt);
  }
  for (const std::int64_t bytes : {4 * MiB, 16 * MiB, 32 * MiB, 64 * MiB, 256 * MiB}) {
    all.compare(
        one, "all_reduce", operation::all_reduce, bytes,
        ranks == 2 || bytes >= 32 * MiB ? std::optional(large_target(ranks)) : std::nullopt);
  }
  for (const std::int64_t bytes : {MiB, 16 * MiB, 64 * MiB, 256 * MiB}) {
    all.compare(one, "all_reduce in place", operation::all_reduce_in_place, bytes,
                ranks == 2 ? std::optional(ratio_at_most(1.05)) : std::nullopt);
  }
  for (const auto& [name, what] : {std::pair("all_gather", operation::all_gather),
                                   std::pair("reduce_scatter", operation::reduce_scatter),
                                   std::pair("all_to_all", operation::all_to_all),
                                   std::pair("broadcast", operation::broadcast)}) {
    for (const std::int64_t bytes : {MiB, 16 * MiB, 256 * MiB})
      all.compare(one, name, what, bytes, ratio_at_most(1.0));
  }
  for (const std::int64_t bytes : {MiB, 16 * MiB, 256 * MiB})
    all.compare(one, "copy", operation::copy, bytes, ratio_at_most(1.03));
}

constexpr std::int64_t sizes[] = {KiB,       4 * KiB,  16 * KiB,  64 * KiB, 128 * KiB, 256 * KiB,
                                  512 * KiB, MiB,      2 * MiB,   4 * MiB,  8 * MiB,   16 * MiB,
                                  32 * MiB,  64 * MiB, 128 * MiB, 256 * MiB};

}  // namespace

int main(int argc, char** argv) {
  const auto asked = count_argument(argc, argv, is_rehearsal() ? 3 : raw::gpu_count(), "RANKS");
  if (!asked) return 2;
  const auto ranks = static_cast<std::size_t>(*asked);
  report findings(fmt::format("Collective operations of {} ranks", ranks));
  if (ranks < 2) {
    fmt::print("fewer than two GPUs: nothing to measure\n");
    return 0;
  }
  measuring all(findings, ranks);
  all.group("operations", "", transport::automatic,
            [&](ours& one) { measure_operations(all, findings, one, ranks); });
  for (const std::string algorithm : {"staged", "direct", "two_shot", "sliced"}) {
    if (algorithm == "two_shot" && ranks == 2) continue;
    const bool in_place = algorithm == "sliced";
    const auto what = in_place ? operation::all_reduce_in_place : operation::all_reduce;
    all.group(algorithm, algorithm, transport::peer, [&](ours& one) {
      for (const std::int64_t bytes : sizes) {
        if (algorithm == "staged" && bytes > 16 * MiB) continue;
        if (in_place && (bytes < 512 * KiB || bytes > 16 * MiB)) continue;
        all.compare(one, "all_reduce, " + algorithm, what, bytes, std::nullopt);
      }
    });
  }
  if (!is_rehearsal()) {
    all.group("transport::nccl", "", transport::nccl, [&](ours& one) {
      for (const std::int64_t bytes : sizes)
        all.compare(one, "all_reduce, transport::nccl", operation::all_reduce, bytes, std::nullopt);
    });
  }
  return findings.finish();
}
