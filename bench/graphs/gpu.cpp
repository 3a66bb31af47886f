// A run of a graph through Troupe beside the same products captured from cuBLAS by hand and
// launched as a CUDA graph, and beside the same requests one by one: 1, 20 and 200 products of 64 ×
// 64 floats, each of the one before.

#include "gpu/raw/raw.hpp"
#include "gpu/side_by_side.hpp"
#include "graphs/after_a_kill.hpp"
#include "graphs/chains.hpp"
#include "graphs/processor_time.hpp"
#include "graphs/raw_loop.hpp"

#include <troupe/elementwise/function.hpp>
#include <troupe/elementwise/map.hpp>
#include <troupe/memory/copy.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;

void asked(report& out, raw::stream& stream, device& gpu, std::size_t count) {
  chain_by_hand floor(stream, count);
  const chain ours = products(gpu, count);
  const request_graph graph = recorded(gpu, ours);
  auto times = take_in_turn(
      {.blocks = 20, .warm_up = 20, .per_block = 200}, [&] { floor.run(); },
      [&] { gpu.run(graph).get(); });
  std::vector<float> found(elements);
  gpu.copy(ours.last, std::span(found)).get();
  if (found != floor.result()) throw std::runtime_error("the products differ");
  const double limit = count == 20 ? 1.15 : 1.10;
  add_times(out, times,
            {.name = fmt::format("a graph of {} sgemm 64, ask to reply", count),
             .reference = "cudaGraphLaunch + synchronize",
             .median = count == 1 ? std::nullopt : std::optional<target>(ratio_at_most(limit))});
}

void in_flight(report& out, raw::stream& stream, device& gpu, std::size_t count) {
  constexpr int depth = 16;
  chain_by_hand floor(stream, count);
  const request_graph graph = recorded(gpu, products(gpu, count));
  auto times = take_in_turn(
      {.blocks = 10, .warm_up = 2, .per_block = 10},
      [&] {
        for (int i = 0; i < depth; ++i)
          floor.launch();
        stream.synchronize();
      },
      [&] {
        std::vector<future<graph_replies>> all;
        for (int i = 0; i < depth; ++i)
          all.push_back(gpu.run(graph));
        for (auto& one : all)
          one.get();
      });
  add_times(out, times,
            {.name = fmt::format("a graph of {} sgemm 64, {} runs in flight", count, depth),
             .reference = "cudaGraphLaunch, then synchronize",
             .median = ratio_at_most(1.05)});
}

void beside_requests(report& out, device& gpu) {
  const chain one = products(gpu, 1);
  const request_graph of_one = recorded(gpu, one);
  auto times = take_in_turn(
      {.blocks = 20, .warm_up = 20, .per_block = 200}, [&] { send(gpu, one); },
      [&] { gpu.run(of_one).get(); });
  add_times(out, times,
            {.name = "a graph of 1 sgemm 64, ask to reply",
             .reference = "the request by itself",
             .median = ratio_at_most(1.25)});

  const chain twenty = products(gpu, 20);
  const request_graph graph = recorded(gpu, twenty);
  side_by_side spent;
  constexpr int loop = 200;
  const auto take = [&](side& into, auto&& work) {
    for (int i = 0; i < 20; ++i)
      work();
    const double before = processor_time(gpu);
    for (int i = 0; i < loop; ++i)
      work();
    const double each = (processor_time(gpu) - before) / loop;
    into.add(each);
    return each;
  };
  for (int i = 0; i < 20; ++i) {
    const double floor = take(spent.raw, [&] { send(gpu, twenty); });
    spent.pairs.add(take(spent.ours, [&] { gpu.run(graph).get(); }) / floor);
  }
  out.add({"20 sgemm 64 as a graph, processor time", spent.ours.middle(), "us", "the same by tell",
           spent.raw.middle(), ratio_at_most(0.25), spent.ratio()});
}

// The second run records. Each graph is a new one, because of its factor.
void recording(report& out, raw::stream& stream, device& gpu, std::size_t count) {
  chain_by_hand floor(stream, count);
  chain ours = products(gpu, count);
  samples by_hand, by_troupe, pairs;
  for (int i = 0; i < 12; ++i) {
    for (blas::gemm& one : ours.requests)
      one.alpha = 1.0 + i;
    const request_graph graph = recorded(gpu, ours);
    gpu.run(graph).get();
    const double first = time_of([&] { gpu.run(graph).get(); });
    const double launched = time_of([&] { gpu.run(graph).get(); });
    const double raw_time = time_of([&] { floor.record(); });
    by_troupe.add(first - launched);
    by_hand.add(raw_time);
    pairs.add((first - launched) / raw_time);
  }
  out.add({fmt::format("recording a graph of {} sgemm 64", count), by_troupe.middle(), "us",
           "capture + instantiate", by_hand.middle(), ratio_at_most(1.3), pairs.middle()});
}

void other_addresses(report& out, device& gpu) {
  const chain ours = products(gpu, 20);
  const request_graph graph = recorded(gpu, ours);
  std::vector<any_tensor> firsts;
  firsts.reserve(9);
  for (int i = 0; i < 9; ++i)
    firsts.emplace_back(gpu.tensor<float>({n, n}, initial::zero).value());
  const auto run = [&](std::size_t which) { gpu.run(graph, {{"first", firsts[which]}}).get(); };
  for (int i = 0; i < 6; ++i)
    run(static_cast<std::size_t>(i % 2));
  std::size_t turn = 0;
  auto known = take_in_turn(
      {.blocks = 10, .warm_up = 10, .per_block = 200}, [&] { run(0); }, [&] { run(turn++ % 2); });
  out.add({"other addresses whose recording is known, more than the same again",
           known.ours.typical() - known.raw.typical(),
           "us",
           "",
           {},
           at_most(0.3)});
  samples updated, called;
  // Nine for eight places: each run changes the recording of another.
  for (std::size_t i = 0; i < 45; ++i) {
    const double each = time_of([&] { run(i % firsts.size()); });
    if (i >= 18) updated.add(each);
    called.add(time_of([&] { send(gpu, ours); }));
  }
  out.add({"other addresses whose recording is updated, ask to reply", updated.middle(), "us",
           "the same by tell", called.middle(), ratio_at_most(1.2)});
}

void rounds(report& out, raw::stream& stream, device& gpu) {
  constexpr int count = 200;
  raw::cublas cublas(stream);
  constexpr std::size_t bytes = elements * sizeof(float);
  const raw::memory a(raw::memory::place::device, bytes);
  const raw::memory b(raw::memory::place::device, bytes);
  const raw::memory c(raw::memory::place::device, bytes);
  const auto multiply = [&] { cublas.multiply(n, a.address(), b.address(), c.address()); };
  multiply();
  stream.synchronize();
  raw::loop floor(stream, multiply, count);

  const chain ours = products(gpu, 1);
  const auto start = gpu.tensor<std::int32_t>({1}).value();
  const auto left = gpu.tensor<std::int32_t>({1}).value();
  const std::int32_t wanted = count;
  gpu.copy(std::span(&wanted, 1), start).get();
  const auto less = elementwise::function::of(
      1, [](std::span<const elementwise::value> in) { return in[0] - elementwise::value(1.0); });
  graph_recorder rec = gpu.record("loop");
  rec.add(memory::copy{.from = start, .to = left});
  rec.repeat_while(left, {}, [&](graph_recorder& body) {
    body.add(ours.requests.front());
    body.add(elementwise::map{.inputs = {left}, .outputs = {left}, .what = less});
  });
  const request_graph graph = std::move(rec).finish().value();
  for (int i = 0; i < 200 && graph.info(gpu).get().launches == 0; ++i)
    gpu.run(graph).get();  // a kernel is compiled meanwhile
  const graph::graph_info how = graph.info(gpu).get();
  // Segments of the body are launched, too, if the worker looks at the condition.
  if (how.launches == 0 || how.segments.size() != 1) {
    std::string why = how.why;
    for (const graph::segment& one : how.segments)
      why += " " + one.why;
    throw std::runtime_error("the loop was not recorded:" + why);
  }
  auto times = take_in_turn(
      {.blocks = 10, .warm_up = 2, .per_block = 10},
      [&] {
        floor.launch(stream);
        stream.synchronize();
      },
      [&] { gpu.run(graph).get(); });
  add_times(out, times,
            {.name = "a loop of sgemm 64 and a step, each round",
             .reference = "a conditional node by hand",
             .per_microsecond = 1.0 / count,
             .median = ratio_at_most(1.05)});
}

void killed(report& out, const device& gpu) {
  device its = gpu;
  const chain ours = products(its, 20);
  const request_graph graph = recorded(its, ours);
  after_a_kill(out, gpu, "20 sgemm 64", [&] { gpu.run(graph).get(); }, [&] { send(gpu, ours); });
}

}  // namespace

int main() {
  report out("gpu_graphs: runs of a graph, beside the same products captured by hand");
  section(out, "graphs", [&] {
    fmt::print("{}\n", raw::open_device());
    raw::stream stream;
    troupe::system system;
    device gpu = system.device(0, {.backend = backend_kind::cuda, .standby = true});
    wait_until_settled(gpu, true);
    for (const std::size_t count : {1U, 20U, 200U})
      section(out, fmt::format("{} products", count), [&] { asked(out, stream, gpu, count); });
    section(out, "runs in flight", [&] { in_flight(out, stream, gpu, 200); });
    section(out, "beside requests", [&] { beside_requests(out, gpu); });
    for (const std::size_t count : {20U, 200U})
      section(out, "recording", [&] { recording(out, stream, gpu, count); });
    section(out, "other addresses", [&] { other_addresses(out, gpu); });
    section(out, "loop", [&] { rounds(out, stream, gpu); });
    section(out, "after a kill", [&] { killed(out, gpu); });
  });
  return out.finish();
}
