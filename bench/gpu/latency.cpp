// The cost of the smallest work for a GPU through Troupe: one empty kernel, sent and awaited, and
// many of them without a wait; beside the same launches in a plain program.

#include "gpu/raw/raw.hpp"
#include "second_thread.hpp"
#include "side_by_side.hpp"

#include <troupe/lane/launch.hpp>
#include <troupe/lane/marker.hpp>

#include <fmt/format.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;

constexpr std::size_t window = 512;  // answers open at once

device open(troupe::system& system, isolation where) {
  const bool process = where == isolation::process;
  device gpu = system.device(0, {.isolation = where,
                                 .backend = backend_kind::cuda,
                                 .full = when_full::wait,
                                 .standby = process});
  wait_until_settled(gpu, process);
  return gpu;
}

void measure_ask(report& out, raw::stream& stream, const device& gpu, const std::string& where,
                 target median, std::optional<target> p99) {
  const library_actor lane = gpu.library("lane");
  constexpr repetitions runs{.blocks = 100, .warm_up = 20, .per_block = 1'000};
  const auto launch = [&] {
    stream.launch_empty();
    stream.synchronize();
  };
  const auto ask = [&] { lane.ask(lane::launch{}).get(); };
  const std::string name = "ask, empty kernel, " + where;
  auto times = take_in_turn(runs, launch, ask);
  add_times(out, times,
            {.name = name, .reference = "launch + synchronize", .median = median, .p99 = p99});
  // How much of it is that two threads can be interrupted where there was one.
  second_thread other(launch);
  times = take_in_turn(runs, [&] { other(); }, ask);
  add_times(out, times, {.name = name, .reference = "launch + synchronize by a second thread"});
}

// Time per kernel of a loop of so many.
constexpr int loop = 20'000;
constexpr repetitions loops{.blocks = 20, .warm_up = 1, .per_block = 1};

void measure_pipelined(report& out, raw::stream& stream, const device& gpu,
                       const std::string& where, bool with_targets) {
  const library_actor lane = gpu.library("lane");
  const auto bare = [&] {
    for (int i = 0; i < loop; ++i)
      stream.launch_empty();
    stream.synchronize();
  };
  auto asked = take_in_turn(loops, bare, [&] {
    pipeline(loop, window, [&](std::size_t) { return lane.ask(lane::launch{}); });
  });
  auto told = take_in_turn(loops, bare, [&] {
    for (int i = 0; i < loop; ++i)
      lane.tell(lane::launch{}).value();
    lane.ask(lane::marker{}).get();
  });
  const auto aim = [&](double limit) {
    return with_targets ? std::optional(ratio_at_most(limit)) : std::nullopt;
  };
  add_times(out, asked,
            {.name = "pipelined, a reply each, " + where,
             .reference = "bare launch loop",
             .per_microsecond = 1.0 / loop,
             .median = aim(1.40)});
  add_times(out, told,
            {.name = "pipelined, tell, " + where,
             .reference = "bare launch loop",
             .per_microsecond = 1.0 / loop,
             .median = aim(1.10)});
}

/// Runs `work(i)` in so many threads at once.
template <class Work>
void in_threads(std::size_t count, Work&& work) {
  std::vector<std::jthread> threads;
  threads.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    threads.emplace_back([&work, i] { work(i); });
}

void measure_producers(report& out, const device& gpu, const std::string& where) {
  constexpr std::size_t producers = 4;
  std::vector<std::unique_ptr<raw::stream>> streams;
  std::vector<library_actor> lanes;
  for (std::size_t i = 0; i < producers; ++i) {
    streams.push_back(std::make_unique<raw::stream>());
    lanes.push_back(gpu.library("lane").on_new_lane());
  }
  const auto launch = [&](std::size_t i) {
    for (int n = 0; n < loop; ++n)
      streams[i]->launch_empty();
    streams[i]->synchronize();
  };
  const auto tell = [&](std::size_t i) {
    for (int n = 0; n < loop; ++n)
      lanes[i].tell(lane::launch{}).value();
    lanes[i].ask(lane::marker{}).get();
  };
  // One and four in turn, so that the rates that are divided are of the same moments.
  side_by_side one;
  side_by_side four;
  for (int i = 0; i < loops.blocks; ++i) {
    four.raw.take(1, [&] { in_threads(producers, launch); });
    one.raw.take(1, [&] { in_threads(1, launch); });
    four.ours.take(1, [&] { in_threads(producers, tell); });
    one.ours.take(1, [&] { in_threads(1, tell); });
  }
  const auto rate = [](samples& times, double kernels) { return kernels / times.median() * 1e6; };
  const std::string name = "four producers on four lanes, tell, " + where;
  out.add({name, rate(four.ours, producers * loop), "1/s", "Troupe, one producer",
           rate(one.ours, loop), ratio_at_least(1.5)});
  out.add({name, rate(four.ours, producers * loop), "1/s", "four bare launch loops",
           rate(four.raw, producers * loop)});
  out.add({"four bare launch loops", rate(four.raw, producers * loop), "1/s",
           "one bare launch loop", rate(one.raw, loop)});
}

}  // namespace

int main() {
  report out("gpu_latency: an empty kernel through Troupe, beside a plain launch");
  section(out, "everything", [&] {
    fmt::print("{}\n", raw::open_device());
    raw::stream stream;
    {
      troupe::system system;
      const device gpu = open(system, isolation::process);
      section(out, "ask, process", [&] {
        measure_ask(out, stream, gpu, "process", ratio_at_most(1.10), ratio_at_most(1.25));
      });
      section(out, "pipelined, process",
              [&] { measure_pipelined(out, stream, gpu, "process", true); });
      section(out, "producers, process", [&] { measure_producers(out, gpu, "process"); });
    }
    troupe::system system;
    const device gpu = open(system, isolation::thread);
    section(out, "ask, thread",
            [&] { measure_ask(out, stream, gpu, "thread", ratio_at_most(1.05), std::nullopt); });
    section(out, "pipelined, thread",
            [&] { measure_pipelined(out, stream, gpu, "thread", false); });
  });
  return out.finish();
}
