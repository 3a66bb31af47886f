#include "gpu/raw/raw_check.hpp"
#include "graphs/raw_loop.hpp"

#include <cuda_runtime.h>

namespace troupe::bench::raw {
namespace {

__global__ void begin_loop(int* left, int rounds, cudaGraphConditionalHandle handle) {
  *left = rounds;
  cudaGraphSetConditional(handle, rounds > 0 ? 1 : 0);
}
__global__ void count_round(int* left, cudaGraphConditionalHandle handle) {
  cudaGraphSetConditional(handle, --*left > 0 ? 1 : 0);
}

/// Captures into a graph. Returns the last node.
cudaGraphNode_t capture(cudaStream_t stream, cudaGraph_t into, const std::function<void()>& work) {
  check(cudaStreamBeginCaptureToGraph(stream, into, nullptr, nullptr, 0,
                                      cudaStreamCaptureModeThreadLocal),
        "cudaStreamBeginCaptureToGraph");
  work();
  cudaStreamCaptureStatus status{};
  const cudaGraphNode_t* last = nullptr;
  std::size_t count = 0;
#if CUDART_VERSION >= 13000
  const cudaGraphEdgeData* edges = nullptr;
  check(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &last, &edges, &count),
        "cudaStreamGetCaptureInfo");
#else
  check(cudaStreamGetCaptureInfo_v2(stream, &status, nullptr, nullptr, &last, &count),
        "cudaStreamGetCaptureInfo");
#endif
  const cudaGraphNode_t node = count == 1 ? *last : nullptr;
  cudaGraph_t captured = nullptr;
  check(cudaStreamEndCapture(stream, &captured), "cudaStreamEndCapture");
  return node;
}

}  // namespace

loop::loop(stream& on, const std::function<void()>& work, int rounds)
    : left_(memory::place::device, sizeof(int)) {
  const auto native = static_cast<cudaStream_t>(on.native());
  auto* const left = static_cast<int*>(left_.address());
  cudaGraph_t graph = nullptr;
  check(cudaGraphCreate(&graph, 0), "cudaGraphCreate");
  graph_ = graph;
  cudaGraphConditionalHandle handle{};
  check(cudaGraphConditionalHandleCreate(&handle, graph, 0, cudaGraphCondAssignDefault),
        "cudaGraphConditionalHandleCreate");
  const cudaGraphNode_t first =
      capture(native, graph, [&] { begin_loop<<<1, 1, 0, native>>>(left, rounds, handle); });
  cudaGraphNodeParams node{};
  node.type = cudaGraphNodeTypeConditional;
  node.conditional.handle = handle;
  node.conditional.type = cudaGraphCondTypeWhile;
  node.conditional.size = 1;
  cudaGraphNode_t made = nullptr;
#if CUDART_VERSION >= 13000
  check(cudaGraphAddNode(&made, graph, &first, nullptr, 1, &node), "cudaGraphAddNode");
#else
  check(cudaGraphAddNode(&made, graph, &first, 1, &node), "cudaGraphAddNode");
#endif
  (void)capture(native, node.conditional.phGraph_out[0], [&] {
    work();
    count_round<<<1, 1, 0, native>>>(left, handle);
  });
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  executable_ = executable;
}

loop::~loop() {
  (void)cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(executable_));
  (void)cudaGraphDestroy(static_cast<cudaGraph_t>(graph_));
}

void loop::launch(stream& on) {
  check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(executable_),
                        static_cast<cudaStream_t>(on.native())),
        "cudaGraphLaunch");
}

}  // namespace troupe::bench::raw
