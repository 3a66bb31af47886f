// A stream of sums over all devices, of which one rank after the other is lost.
//
//   gpu_worlds [--ranks N] [--kills N] [--pairs N] [--all N] [--stops N] [--hangs N]
//              [--faults N] [--transport nccl] [--seconds S] [--seed S] [--json FILE]
//
// N kills of one rank, of two at once and of all; N workers that are stopped (SIGSTOP), which the
// silence watch replaces; N kernels that never end, which their run limit ends; and N faults of
// each kind that a request on the same device can cause. Each trial loses workers in the middle of
// the stream and waits for the next result of all ranks, which is compared with the right one. Each
// kind has its share of S seconds, after which the next one begins. One JSON line for each trial,
// and a table at the end; stops at the first promise that is broken. TROUPE_BACKEND says what is
// tried; without it, CUDA where there is a card. Without
// --ranks a rank for each GPU, and at least two: then both are on the same one. By NCCL, sums are
// out of place, and each trial begins once the world is connected again.

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
  std::int64_t trials;
  std::size_t victims = 1;             // at once
  std::optional<fault::kind> fault{};  // nothing: a signal
  int signal = SIGKILL;
};

std::vector<loss_kind> kinds_of(backend_kind backend, std::size_t ranks, const arguments& words) {
  using fault::kind;
  std::vector<loss_kind> all{
      {.name = "killed", .trials = words.number("--kills", 10)},
      {.name = "two killed", .trials = words.number("--pairs", 0), .victims = 2},
      {.name = "all killed", .trials = words.number("--all", 0), .victims = ranks},
      {.name = "stopped", .trials = words.number("--stops", 0), .signal = SIGSTOP},
      {.name = "hung", .trials = words.number("--hangs", 0), .fault = kind::hang}};
  const auto add = [&](std::initializer_list<kind> some) {
    for (const kind one : some)
      all.push_back({.name = std::string(to_string(one)),
                     .trials = words.number("--faults", 10),
                     .fault = one});
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
  trials(backend_kind backend, std::int64_t ranks, std::uint64_t seed, transport by)
      : random_(seed),
        by_(by),
        devices_(make_ranks(system_, backend, ranks)),
        world_(system_.world(devices_, {.transport = by})) {
    // Through staging memory, short and in pieces; and longer, which reads peers' tensors: more
    // than two ranks in two steps.
    streams_.emplace_back(world_, 128, false);
    if (by != transport::nccl) streams_.emplace_back(world_, 1 << 19, true);
    streams_.emplace_back(world_, 1 << 19, false);
    for (const device& one : devices_)
      left_undefined_.push_back(device(one).tensor<float>({64}).value());
  }
  [[nodiscard]] std::size_t ranks() const noexcept { return devices_.size(); }

  struct times {
    double lost = 0;  ///< from the loss until the program knew of it, in milliseconds
    double next = 0;  ///< until the next result was there
  };
  /// Loses workers in the middle of sums.
  times run(const loss_kind& what) {
    await_standbys();
    stream& sums = streams_[random_() % streams_.size()];
    if (by_ == transport::nccl) await_connection();
    const std::size_t first = random_() % ranks();
    std::vector<future<void>> under_way;
    for (int i = 0; i < 4; ++i)
      under_way.push_back(sums.next());
    std::this_thread::sleep_for(std::chrono::microseconds(random_() % 1000));
    const device& watched = devices_[first];
    const auto generation = watched.generation();
    const auto begin = clock::now();
    const auto since = [&] {
      return std::chrono::duration<double, std::milli>(clock::now() - begin).count();
    };
    for (std::size_t i = 0; i < std::min(what.victims, ranks()); ++i) {
      const std::size_t rank = (first + i) % ranks();
      lose(devices_[rank], what, left_undefined_[rank]);
    }
    auto last = sums.next();
    times took;
    const auto is_known = [&] {
      return watched.generation() != generation || watched.health().state != device_state::ready;
    };
    // A signal can come after a worker has sent its sum to the GPU: then the next sum shows it.
    while (!is_known() && since() < 20'000.0) {
      if (last.wait_for(100us) && !is_known())
        under_way.push_back(std::exchange(last, sums.next()));
    }
    took.lost = since();
    await(last);
    took.next = since();
    for (auto& one : under_way)
      await(one);
    if (std::string amiss = sums.amiss(); !amiss.empty()) throw std::runtime_error(amiss);
    return took;
  }
  [[nodiscard]] nccl_health nccl() const { return world_.health().nccl; }
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
      if (const auto worker = one.worker_pid()) ::kill(*worker, what.signal);
      return;
    }
    // Its own failure is no part of the trial.
    request_options options = options_of(*what.fault);
    options.quarantine = false;
    const auto sent = one.tell(fault::inject{.what = *what.fault, .output = output}, options);
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

  // Any request has the world connect again.
  void await_connection() {
    const auto until = clock::now() + longest_wait;
    while (nccl().state != nccl_health::connection::ready) {
      if (clock::now() > until) throw std::runtime_error("no connection: " + nccl().reason);
      auto one = streams_.front().next();
      await(one);
      std::this_thread::sleep_for(5ms);
    }
  }

  std::mt19937_64 random_;
  const transport by_;
  system system_{{.log = [](const log_entry&) {}}};
  std::vector<device> devices_;
  world world_;
  std::vector<tensor<float>> left_undefined_;
  std::deque<stream> streams_;
};

/// Percentiles of some times.
std::string text_of(std::vector<double> took) {
  std::ranges::sort(took);
  const auto at = [&](double part) {
    return took[std::min(took.size() - 1, static_cast<std::size_t>(part * double(took.size())))];
  };
  return fmt::format("p50 {:.1f}, p99 {:.1f}, most {:.1f}", at(0.5), at(0.99), took.back());
}

int run(const arguments& words) {
  const backend_kind backend = backend_under_test();
  const auto seed = static_cast<std::uint64_t>(words.number("--seed", 1));
  std::ofstream lines(words.text("--json", "worlds.jsonl"));
  const bool by_nccl = words.text("--transport", "automatic") == "nccl";
  trials all(backend, words.number("--ranks", 0), seed,
             by_nccl ? transport::nccl : transport::automatic);
  fmt::print("worlds: {} ranks, backend {}, {}seed {}\n", all.ranks(), name_of(backend),
             by_nccl ? "by NCCL, " : "", seed);
  const auto kinds = kinds_of(backend, all.ranks(), words);
  const auto given = [](const loss_kind& one) { return one.trials > 0; };
  const std::chrono::duration<double> share(
      double(words.number("--seconds", 100'000)) /
      double(std::max<std::ptrdiff_t>(std::ranges::count_if(kinds, given), 1)));
  int made = 0;
  std::string amiss;
  for (const loss_kind& what : kinds) {
    const auto until = clock::now() + share;
    std::vector<double> lost, next;
    for (std::int64_t i = 0; i < what.trials && amiss.empty(); ++i) {
      if (clock::now() > until) {
        fmt::print("{}: {} of {} trials, its time is over\n", what.name, i, what.trials);
        break;
      }
      json_line line;
      line.add("kind", what.name).add("trial", i).add("ranks", all.ranks());
      if (by_nccl) line.add("transport", std::string("nccl"));
      try {
        const trials::times took = all.run(what);
        made += static_cast<int>(what.victims);
        lost.push_back(took.lost);
        next.push_back(took.next);
        line.add("lost_ms", took.lost).add("next_ms", took.next);
      } catch (const std::exception& broken) {
        amiss = fmt::format("{}, trial {}: {}", what.name, i, broken.what());
        line.add("miss", amiss);
      }
      lines << line.text() << std::endl;
    }
    if (next.empty()) continue;
    fmt::print(
        "{:20} {:4} trials; next right result after ms: {}; of these until the loss was "
        "known: {}\n",
        what.name, next.size(), text_of(next), text_of(lost));
    std::fflush(stdout);
  }
  if (amiss.empty()) {
    const std::string nccl =
        by_nccl ? fmt::format(", {} operations by NCCL", all.nccl().operations) : std::string();
    fmt::print("worlds: ok, {} workers lost, {} parts ran again{}\n", made, all.replayed(), nccl);
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
