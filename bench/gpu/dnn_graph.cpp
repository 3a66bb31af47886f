// The cost of a layer as one graph, gelu(x · w + bias) + residual: by pieces and by cuDNN's plan,
// beside cuBLASLt called directly, which does it without the residual.

#include "fresh_contexts.hpp"
#include "gpu/raw/raw_blaslt.hpp"
#include "random_numbers.hpp"
#include "side_by_side.hpp"

#include <troupe/dnn/graph.hpp>
#include <troupe/lane/marker.hpp>

#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;

struct extents {
  std::int64_t m, n, k;
};

/// Row-major x, output and residual, column-major w, a bias; on both sides.
class operands {
 public:
  operands(const device& gpu, raw::stream& stream, const extents& size)
      : gpu_(gpu),
        raw_x_(raw::memory::place::device, count(size.m, size.k) * sizeof(bf16)),
        raw_w_(raw::memory::place::device, count(size.n, size.k) * sizeof(bf16)),
        raw_bias_(raw::memory::place::device, count(size.n, 1) * sizeof(bf16)),
        raw_y_(raw::memory::place::device, count(size.m, size.n) * sizeof(bf16)),
        x_(gpu_.tensor<bf16>({size.m, size.k}).value()),
        w_(gpu_.tensor<bf16>({size.n, size.k}).value()),
        bias_(gpu_.tensor<bf16>({size.n}).value()),
        residual_(gpu_.tensor<bf16>({size.m, size.n}).value()),
        y_(gpu_.tensor<bf16>({size.m, size.n}).value()) {
    fill(stream, raw_x_, x_, count(size.m, size.k));
    fill(stream, raw_w_, w_, count(size.n, size.k));
    fill(stream, raw_bias_, bias_, count(size.n, 1));
    fill(stream, raw_y_, residual_, count(size.m, size.n));
  }

  [[nodiscard]] dnn::graph request(dnn::graph_engine engine, dnn::tuning tuning) const {
    static const auto layer = dnn::computation::of(4, [](std::span<const dnn::nodes::node> x) {
      return gelu_tanh(matmul(x[0], x[1]) + x[2]) + x[3];
    });
    return {.inputs = {x_, w_.transpose(), bias_, residual_},
            .outputs = {y_},
            .what = layer,
            .intermediate = dnn::intermediate_type::bf16,
            .engine = engine,
            .tuning = tuning};
  }
  void multiply(raw::matmul& by) const {
    by.run(raw_x_.address(), raw_w_.address(), raw_bias_.address(), raw_y_.address());
  }

 private:
  static std::size_t count(std::int64_t rows, std::int64_t columns) {
    return static_cast<std::size_t>(rows * columns);
  }
  void fill(raw::stream& stream, raw::memory& theirs, tensor<bf16>& ours, std::size_t elements) {
    const std::vector<bf16> data = random_numbers<bf16>(elements);
    stream.copy(theirs.address(), data.data(), elements * sizeof(bf16));
    gpu_.copy(std::span(data), ours).get();
    stream.synchronize();
  }

  device gpu_;
  raw::memory raw_x_, raw_w_, raw_bias_, raw_y_;
  tensor<bf16> x_, w_, bias_, residual_, y_;
};

void measure(report& out, const device& gpu, const extents& size, dnn::graph_engine engine,
             dnn::tuning tuning, std::string_view by) {
  raw::stream stream;
  raw::matmul plain(stream, raw::element::bf16, size.m, size.n, size.k, true);
  const operands all(gpu, stream, size);
  const library_actor lane = gpu.library("dnn");
  const dnn::graph request = all.request(engine, tuning);
  // With `automatic`, pieces and the plan, which is there by then, take turns at first.
  constexpr int turns = 16;
  auto first = lane.ask(request).get_result();
  for (int i = 0; engine == dnn::graph_engine::automatic && i < turns; ++i)
    first = lane.ask(request).get_result();
  const std::string what =
      fmt::format("matmul, bias, gelu, residual bf16 {}x{}x{}, {}", size.m, size.n, size.k, by);
  if (!first) {
    std::cout << what << ": " << first.error().message << '\n';
    return;
  }
  std::cout << what << " by " << first->by << '\n';
  const double work =
      2.0 * static_cast<double>(size.m) * static_cast<double>(size.n) * static_cast<double>(size.k);
  constexpr std::size_t loop = 16;
  auto times = take_in_turn(
      {.blocks = 20, .warm_up = 2, .per_block = 4},
      [&] {
        for (std::size_t i = 0; i < loop; ++i)
          all.multiply(plain);
        stream.synchronize();
      },
      [&] {
        for (std::size_t i = 0; i < loop; ++i)
          lane.tell(request).value();
        lane.ask(troupe::lane::marker{}).get();
      });
  add_rate(out, times, work * static_cast<double>(loop) * 1e-12,
           {.name = what,
            .reference = "cublasLtMatmul with bias and gelu, no residual",
            .unit = "TFLOP/s",
            .median = ratio_at_least(0.7)});
}

}  // namespace

int main() {
  report out("gpu_dnn_graph: a layer as one graph, beside cuBLASLt called directly");
  section(out, "layers", [&] {
    in_fresh_contexts(1, [&](const device& gpu) {
      for (const extents& size :
           {extents{8192, 4096, 1024}, extents{4096, 4096, 4096}, extents{2048, 1024, 4096}}) {
        using enum dnn::tuning;
        measure(out, gpu, size, dnn::graph_engine::pieces, heuristic, "pieces");
        measure(out, gpu, size, dnn::graph_engine::plan, heuristic, "plan");
        measure(out, gpu, size, dnn::graph_engine::plan, timed, "timed plan");
        measure(out, gpu, size, dnn::graph_engine::automatic, heuristic, "the faster");
        measure(out, gpu, size, dnn::graph_engine::automatic, timed, "the faster, timed");
      }
    });
  });
  return out.finish();
}
