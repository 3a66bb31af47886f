#include "backend/cuda/context/recording/stream_recorder.hpp"

#include "backend/cuda/context/recording/failure_delivery.hpp"
#include "base/try.hpp"
#include "wire/layout.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace troupe::cuda {
namespace {

error not_recordable(std::string_view what) {
  return {.code = errc::unsupported, .message = fmt::format("it {}", what), .library = "cuda"};
}

}  // namespace

executable_graph::~executable_graph() {
  // The last owner may be a thread that has not used the device.
  (void)driver_.cuCtxSetCurrent(context_);
  if (launched_ != nullptr) (void)driver_.cuEventSynchronize(launched_);
  if (graph_ != nullptr) (void)driver_.cuGraphExecDestroy(graph_);
  if (launched_ != nullptr) (void)driver_.cuEventDestroy(launched_);
  if (failure_ != 0) (void)driver_.cuMemFree(failure_);
  for (const CUdeviceptr one : rounds_)
    (void)driver_.cuMemFree(one);
}

bool executable_graph::is_running() {
  return driver_.cuEventQuery(launched_) == CUDA_ERROR_NOT_READY;
}

result<void> executable_graph::launch(CUstream on, std::byte* reply) {
  TRY(cuda::check(driver_.cuGraphLaunch(graph_, on), "cuGraphLaunch"));
  if (failure_ != 0) TRY(deliver_failure(reinterpret_cast<std::byte*>(failure_), reply, on));
  return cuda::check(driver_.cuEventRecord(launched_, on), "cuEventRecord");
}

result<void> stream_recorder::begin() {
  forget();
  TRY(cuda::check(driver_.cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                  "cuStreamBeginCapture"));
  is_recording_ = is_capturing_ = true;
  return {};
}

result<void> stream_recorder::allocate(CUdeviceptr& made, std::size_t bytes) const {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  (void)driver_.cuThreadExchangeStreamCaptureMode(&mode);
  auto got = cuda::check(driver_.cuMemAlloc(&made, bytes), "cuMemAlloc");
  (void)driver_.cuThreadExchangeStreamCaptureMode(&mode);
  return got;
}

// Device memory: each launch clears it before its first use, and `deliver_failure` looks at it.
std::byte* stream_recorder::place_for_failure() {
  if (failure_ == 0) {
    if (!allocate(failure_, sizeof(wire::reply_slot))) return nullptr;
    if (driver_.cuMemsetD8Async(failure_, 0, sizeof(wire::reply_slot), stream_) != CUDA_SUCCESS) {
      return nullptr;
    }
  }
  return reinterpret_cast<std::byte*>(failure_) + offsetof(wire::reply_slot, bytes);
}

void stream_recorder::forget() noexcept {
  seen_.clear();
  kept_.clear();
  open_.clear();
  whole_ = nullptr;
  if (failure_ != 0) (void)driver_.cuMemFree(std::exchange(failure_, 0));
  for (const CUdeviceptr one : std::exchange(rounds_, {}))
    (void)driver_.cuMemFree(one);
}

result<CUgraph> stream_recorder::end_capture() {
  is_capturing_ = false;
  CUgraph graph = nullptr;
  auto ended = cuda::check(driver_.cuStreamEndCapture(stream_, &graph), "cuStreamEndCapture");
  if (ended) return graph;
  whole_ = nullptr;  // the driver does not say whether it still exists
  return std::move(ended).error();
}

// Only the nodes that have come since the last call: all others lie before those.
result<void> stream_recorder::check() {
  CUstreamCaptureStatus status{};
  CUgraph graph = nullptr;
  const CUgraphNode* last = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  std::size_t count = 0;
  TRY(cuda::check(
      driver_.cuStreamGetCaptureInfo(stream_, &status, nullptr, &graph, &last, &edges, &count),
      "cuStreamGetCaptureInfo"));
  if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
    return not_recordable("calls what must not be called while a stream is captured");
  }
  std::vector<CUgraphNode> open(last, last + count);
  std::vector<CUgraphEdgeData> unused;
  while (!open.empty()) {
    const CUgraphNode node = open.back();
    open.pop_back();
    if (!seen_.insert(node).second) continue;
    TRY(check(node));
    std::size_t before = 0;
    TRY(cuda::check(driver_.cuGraphNodeGetDependencies(node, nullptr, nullptr, &before),
                    "cuGraphNodeGetDependencies"));
    const std::size_t known = open.size();
    open.resize(known + before);
    unused.resize(before);
    if (before == 0) continue;
    TRY(cuda::check(
        driver_.cuGraphNodeGetDependencies(node, open.data() + known, unused.data(), &before),
        "cuGraphNodeGetDependencies"));
  }
  return {};
}

result<void> stream_recorder::check(CUgraphNode node) const {
  CUgraphNodeType type{};
  TRY(cuda::check(driver_.cuGraphNodeGetType(node, &type), "cuGraphNodeGetType"));
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
    case CU_GRAPH_NODE_TYPE_MEMSET:
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return {};
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return check_copy(node);
    case CU_GRAPH_NODE_TYPE_HOST:
      return not_recordable("calls a function of the host");
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return not_recordable("allocates memory in the order of the stream");
    default:
      return not_recordable(fmt::format("enqueues a node of type {}", static_cast<int>(type)));
  }
}

// A copy that was enqueued takes unregistered memory with it; one that was recorded would read it
// at each launch.
result<void> stream_recorder::check_copy(CUgraphNode node) const {
  CUDA_MEMCPY3D copy{};
  TRY(cuda::check(driver_.cuGraphMemcpyNodeGetParams(node, &copy), "cuGraphMemcpyNodeGetParams"));
  const auto is_known = [&](CUmemorytype type, const void* host, CUdeviceptr device) {
    if (type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_ARRAY) return true;
    const CUdeviceptr at =
        type == CU_MEMORYTYPE_HOST ? reinterpret_cast<CUdeviceptr>(host) : device;
    unsigned found = 0;
    return driver_.cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at) ==
           CUDA_SUCCESS;
  };
  if (is_known(copy.srcMemoryType, copy.srcHost, copy.srcDevice) &&
      is_known(copy.dstMemoryType, copy.dstHost, copy.dstDevice))
    return {};
  return not_recordable("copies memory of its call");
}

result<std::unique_ptr<recorded_work>> stream_recorder::end(std::unique_ptr<recorded_work> like) {
  is_recording_ = false;
  struct owned {
    ~owned() {
      if (graph != nullptr) (void)d.cuGraphDestroy(graph);
    }
    const driver& d;
    CUgraph graph;
  } all{.d = driver_, .graph = nullptr};
  if (!open_.empty()) {
    // A body belongs to its node, and the graph around it was captured before.
    all.graph = whole_;
    if (is_capturing_) (void)end_capture();
    forget();
    return not_recordable("has a condition that was not recorded to its end");
  }
  all.graph = TRY(end_capture());
  std::unique_ptr<executable_graph> made(static_cast<executable_graph*>(like.release()));
  // Handles of conditions belong to their graph; whether an update exchanges them was not tried.
  if (made && (whole_ != nullptr || made->has_conditions_)) made.reset();
  CUgraphExecUpdateResultInfo differs{};
  if (!made || driver_.cuGraphExecUpdate(made->graph_, all.graph, &differs) != CUDA_SUCCESS) {
    made.reset();  // first, so that both need not fit
    made = TRY(instantiate(all.graph));
  }
  made->nodes_ = seen_.size();
  made->kept_ = std::exchange(kept_, {});
  made->has_conditions_ = whole_ != nullptr;
  std::swap(made->failure_, failure_);
  std::swap(made->rounds_, rounds_);
  forget();
  return std::unique_ptr<recorded_work>(std::move(made));
}

std::size_t stream_recorder::free_bytes() const noexcept {
  std::size_t free = 0;
  std::size_t all = 0;
  return driver_.cuMemGetInfo(&free, &all) == CUDA_SUCCESS ? free : 0;
}

result<std::unique_ptr<executable_graph>> stream_recorder::instantiate(CUgraph from) const {
  std::unique_ptr<executable_graph> made(new executable_graph(driver_));
  TRY(cuda::check(driver_.cuCtxGetCurrent(&made->context_), "cuCtxGetCurrent"));
  const std::size_t before = free_bytes();
  TRY(cuda::check(driver_.cuGraphInstantiateWithFlags(&made->graph_, from, 0),
                  "cuGraphInstantiateWithFlags"));
  const std::size_t after = free_bytes();
  made->bytes_ = after < before ? before - after : 0;
  TRY(cuda::check(driver_.cuEventCreate(&made->launched_, CU_EVENT_DISABLE_TIMING),
                  "cuEventCreate"));
  return made;
}

}  // namespace troupe::cuda
