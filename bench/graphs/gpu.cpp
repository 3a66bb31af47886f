// A run of a graph through Troupe beside the same products captured from cuBLAS by hand and
// launched as a CUDA graph: 1, 20 and 200 products of 64 × 64 floats, each of the one before.

#include "gpu/raw/raw.hpp"
#include "gpu/side_by_side.hpp"

#include <troupe/blas/level3.hpp>
#include <troupe/graph.hpp>
#include <troupe/troupe.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;

constexpr std::int64_t n = 64;
constexpr std::size_t elements = 4096;

/// A matrix that turns each row's elements round by one place, so that products stay exact.
std::vector<float> rotation() {
  std::vector<float> values(elements, 0.0f);
  for (std::size_t i = 0; i < 64; ++i)
    values[i * 64 + (i + 1) % 64] = 1.0f;
  return values;
}
std::vector<float> counted() {
  std::vector<float> values(elements);
  for (std::size_t i = 0; i < elements; ++i)
    values[i] = static_cast<float>(i);
  return values;
}

class chain_by_hand {
 public:
  chain_by_hand(raw::stream& stream, std::size_t count)
      : stream_(stream), cublas_(stream), factor_(raw::memory::place::device, elements * 4) {
    for (std::size_t i = 0; i <= count; ++i)
      links_.push_back(
          std::make_unique<raw::memory>(raw::memory::place::device, elements * sizeof(float)));
    const std::vector<float> turn = rotation();
    const std::vector<float> first = counted();
    stream_.copy(factor_.address(), turn.data(), elements * sizeof(float));
    stream_.copy(links_[0]->address(), first.data(), elements * sizeof(float));
    stream_.synchronize();
    multiply();  // cuBLAS allocates what it needs outside of the capture
    stream_.synchronize();
    graph_ = std::make_unique<raw::graph>(stream_, [&] { multiply(); });
  }
  void run() {
    graph_->launch(stream_);
    stream_.synchronize();
  }
  [[nodiscard]] std::vector<float> result() {
    std::vector<float> values(elements);
    stream_.copy(values.data(), links_.back()->address(), elements * sizeof(float));
    stream_.synchronize();
    return values;
  }

 private:
  void multiply() {
    for (std::size_t i = 1; i < links_.size(); ++i)
      cublas_.multiply(n, links_[i - 1]->address(), factor_.address(), links_[i]->address());
  }

  raw::stream& stream_;
  raw::cublas cublas_;
  raw::memory factor_;
  std::vector<std::unique_ptr<raw::memory>> links_;
  std::unique_ptr<raw::graph> graph_;
};

struct chain {
  request_graph graph;
  tensor<float> last;
};

chain recorded(device& gpu, std::size_t count) {
  const auto factor = gpu.tensor<float>({n, n}).value();
  auto x = gpu.tensor<float>({n, n}).value();
  gpu.copy(std::span<const float>(rotation()), factor).get();
  gpu.copy(std::span<const float>(counted()), x).get();
  graph_recorder rec = gpu.record("chain");
  for (std::size_t i = 0; i < count; ++i) {
    auto y = gpu.tensor<float>({n, n}).value();
    rec.add(blas::gemm{.a = x, .b = factor, .c = y});
    x = y;
  }
  return {std::move(rec).finish().value(), x};
}

void measure(report& out, raw::stream& stream, device& gpu, std::size_t count) {
  chain_by_hand floor(stream, count);
  const chain ours = recorded(gpu, count);
  auto times = take_in_turn(
      {.blocks = 40, .warm_up = 20, .per_block = 200}, [&] { floor.run(); },
      [&] { gpu.run(ours.graph).get(); });
  std::vector<float> found(elements);
  gpu.copy(ours.last, std::span(found)).get();
  if (found != floor.result()) throw std::runtime_error("the products differ");
  add_times(out, times,
            {.name = fmt::format("a graph of {} sgemm 64, ask to reply", count),
             .reference = "cudaGraphLaunch + synchronize",
             .median = ratio_at_most(1.10)});
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
      section(out, fmt::format("{} products", count), [&] { measure(out, stream, gpu, count); });
  });
  return out.finish();
}
