// The cost of collective operations of two GPUs, beside NCCL called directly, in one thread, on
// memory of cudaMalloc; and of a copy between them, beside cudaMemcpyPeerAsync. Each is sent many
// times without a wait between.

#include "gpu/collective/raw_nccl.hpp"
#include "report.hpp"
#include "samples.hpp"

#include <troupe/collective.hpp>
#include <troupe/device/world.hpp>
#include <troupe/memory.hpp>
#include <troupe/troupe.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;
using operation = raw::nccl_ranks::operation;

constexpr std::int64_t KiB = 1024;
constexpr std::int64_t MiB = 1024 * KiB;
constexpr std::int64_t longest = 256 * MiB;
constexpr int ranks = 2;

class both {
 public:
  both()
      : gpus_{system_.device(0, config()), system_.device(1, config())},
        world_(system_.world(gpus_, {.staging_bytes = 64 * MiB})),
        x_(world_.tensors<float>({longest / 4}).value()),
        y_(world_.tensors<float>({longest / 4}).value()),
        nccl_(raw::nccl_ranks::make(ranks, longest)) {
    for (const auto* all : {&x_, &y_}) {
      for (std::size_t rank = 0; rank < ranks; ++rank)
        world_.rank(rank).library("memory").ask(memory::fill{.to = (*all)[rank]}).get();
    }
  }

  void measure(report& to, const std::string& name, operation what, std::int64_t bytes,
               std::optional<target> wanted) {
    const int times = static_cast<int>(std::clamp<std::int64_t>(longest / bytes, 8, 400));
    samples ours, theirs;
    run(what, bytes, times);  // maps, loads, connects
    if (nccl_) nccl_->run(what, static_cast<std::size_t>(bytes), times);
    for (int turn = 0; turn < 9; ++turn) {
      ours.take(1, [&] { run(what, bytes, times); });
      if (nccl_) theirs.take(1, [&] { nccl_->run(what, static_cast<std::size_t>(bytes), times); });
    }
    measurement made{.name = fmt::format("{} {}", name, text_of(bytes)),
                     .value = ours.middle() / times,
                     .unit = "us"};
    if (nccl_) {
      made.reference = what == operation::copy ? "cudaMemcpyPeerAsync" : "NCCL";
      made.reference_value = theirs.middle() / times;
      made.target = wanted;
    }
    to.add(std::move(made));
  }

 private:
  static device_config config() { return {.backend = backend_kind::cuda, .standby = false}; }
  static std::string text_of(std::int64_t bytes) {
    return bytes < MiB ? fmt::format("{} KiB", bytes / KiB) : fmt::format("{} MiB", bytes / MiB);
  }
  static per_rank<float> first(const per_rank<float>& of, std::int64_t bytes) {
    std::vector<tensor<float>> some;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      some.push_back(of[rank].slice(0, 0, bytes / 4).value());
    return per_rank<float>(std::move(some));
  }
  void run(operation what, std::int64_t bytes, int times) {
    const auto x = first(x_, bytes), y = first(y_, bytes);
    const auto x_part = first(x_, bytes / ranks), y_part = first(y_, bytes / ranks);
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
        return repeat(collective::reduce_scatter{.x = x, .y = y_part});
      case operation::broadcast:
        return repeat(collective::broadcast{.x = {x[0], any_tensor()}, .y = y});
      case operation::all_gather:
        return repeat(collective::all_gather{.x = x_part, .y = y});
      case operation::all_to_all:
        return repeat(collective::all_to_all{.x = x, .y = y});
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

  troupe::system system_;
  std::vector<device> gpus_;
  world world_;
  per_rank<float> x_;
  per_rank<float> y_;
  std::unique_ptr<raw::nccl_ranks> nccl_;
};

}  // namespace

int main() {
  report findings("Collective operations of two GPUs");
  try {
    both sides;
    for (const std::int64_t bytes : {KiB, 8 * KiB, 64 * KiB, 256 * KiB, MiB})
      sides.measure(findings, "all_reduce", operation::all_reduce, bytes, ratio_at_most(0.75));
    for (const std::int64_t bytes : {4 * MiB, 16 * MiB, 64 * MiB, 256 * MiB})
      sides.measure(findings, "all_reduce", operation::all_reduce, bytes, ratio_at_most(0.95));
    for (const std::int64_t bytes : {MiB, 16 * MiB, 64 * MiB, 256 * MiB}) {
      sides.measure(findings, "all_reduce in place", operation::all_reduce_in_place, bytes,
                    ratio_at_most(1.05));
    }
    for (const auto& [name, what] : {std::pair("all_gather", operation::all_gather),
                                     std::pair("reduce_scatter", operation::reduce_scatter),
                                     std::pair("all_to_all", operation::all_to_all),
                                     std::pair("broadcast", operation::broadcast)}) {
      for (const std::int64_t bytes : {MiB, 16 * MiB, 256 * MiB})
        sides.measure(findings, name, what, bytes, ratio_at_most(1.0));
    }
    for (const std::int64_t bytes : {MiB, 16 * MiB, 256 * MiB})
      sides.measure(findings, "copy", operation::copy, bytes, ratio_at_most(1.03));
  } catch (const std::exception& why) {
    findings.could_not_measure("collective operations", why.what());
  }
  return findings.finish();
}
