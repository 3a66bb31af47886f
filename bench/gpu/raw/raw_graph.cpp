#include "gpu/raw/raw_graph.hpp"

#include "gpu/raw/raw_check.hpp"

namespace troupe::bench::raw {

graph::graph(stream& on, const std::function<void()>& given) {
  check(cudaStreamBeginCapture(of(on.native()), cudaStreamCaptureModeThreadLocal),
        "cudaStreamBeginCapture");
  given();
  cudaGraph_t captured = nullptr;
  check(cudaStreamEndCapture(of(on.native()), &captured), "cudaStreamEndCapture");
  cudaGraphExec_t executable = nullptr;
  const cudaError_t made = cudaGraphInstantiate(&executable, captured, 0);
  (void)cudaGraphDestroy(captured);
  check(made, "cudaGraphInstantiate");
  executable_ = executable;
}
graph::~graph() { (void)cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(executable_)); }

void graph::launch(stream& on) {
  check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(executable_), of(on.native())),
        "cudaGraphLaunch");
}

}  // namespace troupe::bench::raw
