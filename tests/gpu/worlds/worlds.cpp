// A stream of sums over all devices, of which one rank after the other is lost.
//
//   gpu_worlds [--ranks N] [--kills N] [--faults N] [--seed S] [--json FILE]
//
// N kills, and N faults of each kind that a request on the same device can cause. Each trial loses
// a worker in the middle of the stream and waits for the next result of all ranks, which is
// compared with the right one. One JSON line for each trial, and a table at the end; stops at the
// first promise that is broken. TROUPE_BACKEND says what is tried; without it, CUDA where there is
// a card. Without --ranks a rank for each GPU, and at least two: then both are on the same one.

#include "gpu/faults/fault_cases.hpp"
#include "gpu/json_line.hpp"
#include "gpu/program.hpp"

#include <troupe/collective.hpp>
#include <troupe/device/world.hpp>
#include <troupe/fault.hpp>
#include <troupe/memory.hpp>
#include <troupe/troupe.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace troupe::gpu_test {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto longest_wait = 20s;

device_config rank_config(backend_kind backend) {
  return {.backend = backend,
          .memory_limit_bytes = std::uint64_t{512} << 20,
          .standby = true,
          .restarts = {.restarts = 1'000'000},
          .fault_injection = true};
}

// A device on each GPU, or on the first one again where there are too few.
std::vector<device> make_ranks(system& s, backend_kind backend, std::int64_t wanted) {
  std::vector<device> all;
  device_config config = rank_config(backend);
  const std::size_t least = backend == backend_kind::cpu ? 3 : 2;
  constexpr std::size_t most = 8;
  const std::size_t count = wanted > 0 ? static_cast<std::size_t>(wanted) : most;
  std::int32_t gpus = 0;
  bool is_shared = false;
  while (all.size() < count) {
    const auto ordinal = static_cast<std::int32_t>(all.size());
    try {
      if (backend == backend_kind::cpu && wanted == 0 && all.size() == least) break;
      all.push_back(s.device(ordinal, config));
      if (!is_shared) ++gpus;
    } catch (const failure& none) {
      if (none.code() != errc::device_unavailable || gpus == 0) throw;
      if (wanted == 0 && all.size() >= least) break;
      config.gpu = gpu_choice::number(ordinal % gpus);
      is_shared = true;
    }
  }
  for (device& one : all) {
    if (auto ready = one.wait_until_ready(); !ready) throw failure(std::move(ready).error());
  }
  return all;
}

/// Integers that each sum multiplies by the number of ranks, modulo 2⁶⁴: a sum that is lost, made
/// twice or wrong shows in all later ones.
class stream {
 public:
  stream(world& w, std::int64_t count, bool in_place)
      : w_(w),
        in_place_(in_place),
        from_(w.tensors<std::uint64_t>({count}).value()),
        to_(w.tensors<std::uint64_t>({count}).value()) {
    std::vector<std::uint64_t> first(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < first.size(); ++i)
      first[i] = i + 1;
    for (std::size_t rank = 0; rank < w.size(); ++rank)
      w.rank(rank).copy(first, from_[rank]).get();
  }
  future<void> next() {
    factor_ *= w_.size();
    if (in_place_) return w_.ask(collective::all_reduce{.x = from_, .y = from_});
    auto done = w_.ask(collective::all_reduce{.x = from_, .y = to_});
    std::swap(from_, to_);
    return done;
  }
  /// Empty if all ranks have the right numbers.
  [[nodiscard]] std::string amiss() const {
    std::vector<std::uint64_t> got(static_cast<std::size_t>(from_[0].count()));
    for (std::size_t rank = 0; rank < w_.size(); ++rank) {
      w_.rank(rank).copy(from_[rank], got).get();
      for (std::size_t i = 0; i < got.size(); ++i) {
        if (got[i] == factor_ * (i + 1)) continue;
        return fmt::format("rank {} has {} at {}, not {}", rank, got[i], i, factor_ * (i + 1));
      }
    }
    return {};
  }

 private:
  world& w_;
  const bool in_place_;
  per_rank<std::uint64_t> from_;
  per_rank<std::uint64_t> to_;
  std::uint64_t factor_ = 1;
};

struct loss_kind {
  std::string name;
  std::optional<fault::kind> fault;  // nothing: it is killed
};

std::vector<loss_kind> kinds_of(backend_kind backend) {
  using fault::kind;
  std::vector<loss_kind> all{{"killed", std::nullopt}};
  const auto add = [&](std::initializer_list<kind> some) {
    for (const kind one : some)
      all.push_back({std::string(to_string(one)), one});
  };
  if (backend == backend_kind::cuda) {
    add({kind::unmapped_address, kind::misaligned_address, kind::failed_assertion, kind::trap,
         kind::stack_overflow});
  } else {
    add({kind::segmentation_fault, kind::abort});
  }
  return all;
}

class trials {
 public:
  trials(backend_kind backend, std::int64_t ranks, std::uint64_t seed)
      : random_(seed),
        devices_(make_ranks(system_, backend, ranks)),
        world_(system_.world(devices_)) {
    // Through staging memory, short and in pieces; and longer, which reads peers' tensors.
    streams_.emplace_back(world_, 128, false);
    streams_.emplace_back(world_, 1 << 19, true);
    streams_.emplace_back(world_, 1 << 19, false);
    for (const device& one : devices_)
      left_undefined_.push_back(device(one).tensor<float>({64}).value());
  }
  [[nodiscard]] std::size_t ranks() const noexcept { return devices_.size(); }

  /// Loses a worker in the middle of sums. Returns how long the next result took, in milliseconds.
  double run(const loss_kind& what) {
    await_standbys();
    stream& sums = streams_[random_() % streams_.size()];
    const std::size_t rank = random_() % ranks();
    std::vector<future<void>> under_way;
    for (int i = 0; i < 4; ++i)
      under_way.push_back(sums.next());
    std::this_thread::sleep_for(std::chrono::microseconds(random_() % 1000));
    const auto begin = clock::now();
    lose(devices_[rank], what, left_undefined_[rank]);
    auto last = sums.next();
    await(last);
    const double took = std::chrono::duration<double, std::milli>(clock::now() - begin).count();
    for (auto& one : under_way)
      await(one);
    if (std::string amiss = sums.amiss(); !amiss.empty()) throw std::runtime_error(amiss);
    return took;
  }
  [[nodiscard]] std::uint64_t replayed() const {
    std::uint64_t parts = 0;
    for (const device& one : devices_)
      parts += one.statistics().replayed;
    return parts;
  }

 private:
  void await(future<void>& one) const {
    if (!one.wait_for(longest_wait)) throw std::runtime_error("hang: " + states());
    if (auto outcome = one.get_result(); !outcome) {
      throw std::runtime_error(outcome.error().to_string());
    }
  }
  // How far the operations and devices are.
  [[nodiscard]] std::string states() const {
    std::string all;
    for (const world_operation& one : world_.health().under_way) {
      all += fmt::format("{} #{}:", one.request, one.number);
      for (const auto rank : one.ranks)
        all += rank == world_operation::progress::waits  ? " waits"
               : rank == world_operation::progress::runs ? " runs"
                                                         : " has ended";
      all += "; ";
    }
    for (const device& one : devices_) {
      const device_health health = one.health();
      all += fmt::format("device {}: state {}, generation {}, {} in flight, last fault {}; ",
                         one.ordinal(), static_cast<int>(health.state), one.generation(),
                         one.statistics().in_flight,
                         health.last_fault ? health.last_fault->message : "none");
    }
    return all;
  }
  static void lose(device& one, const loss_kind& what, const tensor<float>& output) {
    if (!what.fault) {
      if (const auto worker = one.worker_pid()) ::kill(*worker, SIGKILL);
      return;
    }
    // Its own failure is no part of the trial.
    const auto sent =
        one.tell(fault::inject{.what = *what.fault, .output = output}, {.quarantine = false});
    if (!sent) throw std::runtime_error(sent.error().to_string());
  }
  void await_standbys() {
    const auto until = clock::now() + longest_wait;
    for (const device& one : devices_) {
      while (!one.health().standby_ready) {
        if (clock::now() > until) throw std::runtime_error("no standby");
        std::this_thread::sleep_for(1ms);
      }
    }
  }

  std::mt19937_64 random_;
  system system_{{.log = [](const log_entry&) {}}};
  std::vector<device> devices_;
  world world_;
  std::vector<tensor<float>> left_undefined_;
  std::deque<stream> streams_;
};

int run(const arguments& words) {
  const backend_kind backend = backend_under_test();
  const auto seed = static_cast<std::uint64_t>(words.number("--seed", 1));
  std::ofstream lines(words.text("--json", "worlds.jsonl"));
  trials all(backend, words.number("--ranks", 0), seed);
  fmt::print("worlds: {} ranks, backend {}, seed {}\n", all.ranks(), name_of(backend), seed);
  int made = 0;
  std::string amiss;
  for (const loss_kind& what : kinds_of(backend)) {
    const auto count = words.number(what.fault ? "--faults" : "--kills", 10);
    std::vector<double> took;
    for (std::int64_t i = 0; i < count && amiss.empty(); ++i, ++made) {
      json_line line;
      line.add("kind", what.name).add("trial", i).add("ranks", all.ranks());
      try {
        took.push_back(all.run(what));
        line.add("next_ms", took.back());
      } catch (const std::exception& broken) {
        amiss = fmt::format("{}, trial {}: {}", what.name, i, broken.what());
        line.add("miss", amiss);
      }
      lines << line.text() << std::endl;
    }
    if (took.empty()) continue;
    std::ranges::sort(took);
    const auto at = [&](double part) {
      return took[std::min(took.size() - 1, static_cast<std::size_t>(part * double(took.size())))];
    };
    fmt::print(
        "{:20} {:4} trials; next right result after ms: p50 {:.1f}, p99 {:.1f}, most {:.1f}\n",
        what.name, took.size(), at(0.5), at(0.99), took.back());
    std::fflush(stdout);
  }
  if (amiss.empty()) {
    fmt::print("worlds: ok, {} workers lost, {} parts ran again\n", made, all.replayed());
    return 0;
  }
  fmt::print("worlds: FAILED at {}\n", amiss);
  std::fflush(stdout);
  std::_Exit(1);  // without destructors, which would wait for what hangs
}

}  // namespace
}  // namespace troupe::gpu_test

int main(int argc, char** argv) {
  try {
    return troupe::gpu_test::run(troupe::gpu_test::arguments(argc, argv));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
