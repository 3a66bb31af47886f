// A twin's calls of the driver while it records, with a driver of the test's own.

#include "backend/cuda/context/recording/conditions.hpp"
#include "backend/cuda/context/stream_lane.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace troupe::cuda {
namespace {

/// The nodes that were captured, each after the one before; handles are places, from 1.
struct {
  std::vector<CUgraphNodeType> nodes;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::size_t graph = 1;  // that is captured into; bodies are numbered from 10
  bool is_capturing = false;
  bool is_invalidated = false;
  bool can_be_updated = true;
  bool still_runs = false;
  const void* registered = nullptr;
  const void* copied = nullptr;
  std::size_t free = 1 << 20;
  std::set<CUdeviceptr> memory;
  std::vector<std::string> calls;
} fake;

template <class Handle>
Handle handle(std::size_t place) {
  return reinterpret_cast<Handle>(place);  // NOLINT(performance-no-int-to-ptr)
}
std::size_t place_of(CUgraphNode node) { return reinterpret_cast<std::size_t>(node) - 1; }
CUresult done(std::string call) {
  fake.calls.push_back(std::move(call));
  return CUDA_SUCCESS;
}

void give_streams(driver& d) {
  d.cuStreamCreateWithPriority = [](CUstream* made, unsigned, int) {
    *made = handle<CUstream>(1);
    return CUDA_SUCCESS;
  };
  d.cuStreamDestroy = [](CUstream) { return CUDA_SUCCESS; };
  d.cuEventCreate = [](CUevent* made, unsigned) {
    *made = handle<CUevent>(1);
    return CUDA_SUCCESS;
  };
  d.cuEventDestroy = [](CUevent) { return CUDA_SUCCESS; };
  d.cuEventRecord = [](CUevent, CUstream) { return CUDA_SUCCESS; };
  d.cuEventQuery = [](CUevent) { return fake.still_runs ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS; };
  d.cuEventSynchronize = [](CUevent) { return done("wait"); };
  d.cuCtxGetCurrent = [](CUcontext*) { return CUDA_SUCCESS; };
  d.cuCtxSetCurrent = [](CUcontext) { return CUDA_SUCCESS; };
  d.cuMemAlloc = [](CUdeviceptr* made, std::size_t bytes) {
    if (fake.is_capturing && fake.mode != CU_STREAM_CAPTURE_MODE_RELAXED) {
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    static CUdeviceptr next = 0;
    fake.memory.insert(*made = next += 1 << 20);
    return done("allocate " + std::to_string(bytes));
  };
  d.cuMemFree = [](CUdeviceptr one) {
    fake.memory.erase(one);
    return CUDA_SUCCESS;
  };
  d.cuMemsetD8Async = [](CUdeviceptr, unsigned char, std::size_t, CUstream) {
    fake.nodes.push_back(CU_GRAPH_NODE_TYPE_MEMSET);
    return CUDA_SUCCESS;
  };
}

void give_capture(driver& d) {
  d.cuThreadExchangeStreamCaptureMode = [](CUstreamCaptureMode* mode) {
    std::swap(*mode, fake.mode);
    return CUDA_SUCCESS;
  };
  d.cuStreamBeginCapture = [](CUstream, CUstreamCaptureMode mode) {
    fake.is_capturing = true;
    fake.mode = mode;
    fake.graph = 1;
    fake.nodes.clear();
    return CUDA_SUCCESS;
  };
  d.cuStreamGetCaptureInfo = [](CUstream, CUstreamCaptureStatus* status, cuuint64_t*,
                                CUgraph* graph, const CUgraphNode** last, const CUgraphEdgeData**,
                                std::size_t* count) {
    static CUgraphNode node;
    node = handle<CUgraphNode>(fake.nodes.size());
    if (graph != nullptr) *graph = handle<CUgraph>(fake.graph);
    *status = fake.is_invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                  : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    *last = &node;
    *count = fake.nodes.empty() ? 0 : 1;
    return CUDA_SUCCESS;
  };
  d.cuStreamEndCapture = [](CUstream, CUgraph* made) {
    fake.is_capturing = false;
    *made = handle<CUgraph>(fake.graph);
    return fake.is_invalidated ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
  };
}

void give_graphs(driver& d) {
  d.cuGraphNodeGetType = [](CUgraphNode node, CUgraphNodeType* type) {
    *type = fake.nodes.at(place_of(node));
    return done("look at " + std::to_string(place_of(node)));
  };
  d.cuGraphNodeGetDependencies = [](CUgraphNode node, CUgraphNode* before, CUgraphEdgeData*,
                                    std::size_t* count) {
    *count = place_of(node) == 0 ? 0 : 1;
    if (before != nullptr) *before = handle<CUgraphNode>(place_of(node));
    return CUDA_SUCCESS;
  };
  d.cuGraphMemcpyNodeGetParams = [](CUgraphNode, CUDA_MEMCPY3D* copy) {
    copy->srcMemoryType = CU_MEMORYTYPE_HOST;
    copy->srcHost = fake.copied;
    copy->dstMemoryType = CU_MEMORYTYPE_DEVICE;
    return CUDA_SUCCESS;
  };
  d.cuPointerGetAttribute = [](void*, CUpointer_attribute, CUdeviceptr at) {
    return at == reinterpret_cast<CUdeviceptr>(fake.registered) ? CUDA_SUCCESS
                                                                : CUDA_ERROR_INVALID_VALUE;
  };
  d.cuMemGetInfo = [](std::size_t* free, std::size_t*) {
    *free = fake.free;
    return CUDA_SUCCESS;
  };
  d.cuGraphDestroy = [](CUgraph graph) {
    EXPECT_EQ(graph, handle<CUgraph>(1)) << "bodies belong to their nodes";
    return CUDA_SUCCESS;
  };
  d.cuGraphInstantiateWithFlags = [](CUgraphExec* made, CUgraph, unsigned long long) {
    *made = handle<CUgraphExec>(1);
    fake.free -= 4096;
    return done("instantiate");
  };
  d.cuGraphExecUpdate = [](CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo*) {
    (void)done("update");
    return fake.can_be_updated ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  };
  d.cuGraphExecDestroy = [](CUgraphExec) { return done("end"); };
  d.cuGraphLaunch = [](CUgraphExec, CUstream) { return done("launch"); };
}

void give_conditions(driver& d) {
  d.cuGraphConditionalHandleCreate = [](CUgraphConditionalHandle* made, CUgraph graph, CUcontext,
                                        unsigned, unsigned) {
    EXPECT_EQ(graph, handle<CUgraph>(fake.graph));
    *made = 77;
    return CUDA_SUCCESS;
  };
  d.cuGraphAddNode = [](CUgraphNode* made, CUgraph graph, const CUgraphNode* before,
                        const CUgraphEdgeData*, std::size_t count, CUgraphNodeParams* node) {
    EXPECT_EQ(graph, handle<CUgraph>(fake.graph));
    EXPECT_EQ(count, 1U);
    EXPECT_EQ(place_of(*before) + 1, fake.nodes.size());
    EXPECT_EQ(node->conditional.handle, 77U);
    static CUgraph bodies[] = {handle<CUgraph>(10), handle<CUgraph>(11)};
    node->conditional.phGraph_out = bodies;
    fake.nodes.push_back(CU_GRAPH_NODE_TYPE_CONDITIONAL);
    *made = handle<CUgraphNode>(fake.nodes.size());
    return done("add a node of type " + std::to_string(node->conditional.type) + " with " +
                std::to_string(node->conditional.size));
  };
  d.cuStreamBeginCaptureToGraph = [](CUstream, CUgraph graph, const CUgraphNode* behind,
                                     const CUgraphEdgeData*, std::size_t,
                                     CUstreamCaptureMode mode) {
    fake.is_capturing = true;
    fake.mode = mode;
    fake.graph = reinterpret_cast<std::size_t>(graph);
    return done("capture into " + std::to_string(fake.graph) +
                (behind != nullptr ? " behind " + std::to_string(place_of(*behind)) : ""));
  };
}

const driver& recording_driver() {
  static const driver all = [] {
    driver d;
    give_streams(d);
    give_capture(d);
    give_graphs(d);
    give_conditions(d);
    return d;
  }();
  return all;
}

}  // namespace

// Kernels are nodes of the fake, too.
result<void> set_condition(std::uint64_t, const recorded_condition&, std::uint64_t*, bool is_first,
                           std::byte*, cudaStream_t) {
  fake.nodes.push_back(CU_GRAPH_NODE_TYPE_KERNEL);
  (void)done(is_first ? "set" : "set again");
  return {};
}
result<void> store_word(std::uint64_t*, std::uint64_t, cudaStream_t) {
  fake.nodes.push_back(CU_GRAPH_NODE_TYPE_KERNEL);
  return {};
}

namespace {

class StreamRecorder : public testing::Test {
 protected:
  StreamRecorder() { fake = {}; }
  ~StreamRecorder() override {
    lane_.reset();
    EXPECT_TRUE(fake.memory.empty());
  }
  result<std::unique_ptr<recorded_work>> record(std::unique_ptr<recorded_work> like = nullptr) {
    if (auto begun = twin_.begin_recording(); !begun) return std::move(begun).error();
    fake.nodes = {CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_MEMSET};
    if (auto good = twin_.check_recording(); !good) return std::move(good).error();
    return twin_.end_recording(std::move(like));
  }
  /// The failure of recording a node.
  error refusal(CUgraphNodeType type) {
    EXPECT_TRUE(twin_.begin_recording());
    fake.nodes = {CU_GRAPH_NODE_TYPE_KERNEL, type};
    auto found = twin_.check_recording();
    (void)twin_.end_recording(nullptr);
    return found ? error{} : std::move(found).error();
  }

  std::unique_ptr<accelerator_lane> lane_ = stream_lane::make(recording_driver(), 0, 132).value();
  accelerator_lane& twin_ = *lane_->twin();
};

TEST_F(StreamRecorder, LooksAtEachNodeOnce) {
  ASSERT_TRUE(twin_.begin_recording());
  EXPECT_EQ(fake.mode, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_TRUE(twin_.is_recording());
  for (int i = 0; i < 3; ++i) {
    fake.nodes.push_back(CU_GRAPH_NODE_TYPE_KERNEL);
    ASSERT_TRUE(twin_.check_recording());
  }
  EXPECT_EQ(fake.calls, (std::vector<std::string>{"look at 0", "look at 1", "look at 2"}));
  const auto made = twin_.end_recording(nullptr);
  ASSERT_TRUE(made);
  EXPECT_FALSE(twin_.is_recording());
  EXPECT_EQ((*made)->size(), 3U);
  EXPECT_EQ(dynamic_cast<measured_recording&>(**made).bytes(), 4096U);
}

TEST_F(StreamRecorder, RefusesWhatWouldDoSomethingElseWhenItIsLaunched) {
  EXPECT_EQ(refusal(CU_GRAPH_NODE_TYPE_KERNEL).code, errc{});
  EXPECT_EQ(refusal(CU_GRAPH_NODE_TYPE_HOST).code, errc::unsupported);
  EXPECT_EQ(refusal(CU_GRAPH_NODE_TYPE_MEM_ALLOC).code, errc::unsupported);
  EXPECT_EQ(refusal(CU_GRAPH_NODE_TYPE_EVENT_RECORD).code, errc::unsupported);
  const int own = 0;
  fake.registered = fake.copied = &own;
  EXPECT_EQ(refusal(CU_GRAPH_NODE_TYPE_MEMCPY).code, errc{});
  fake.registered = nullptr;
  EXPECT_EQ(refusal(CU_GRAPH_NODE_TYPE_MEMCPY).code, errc::unsupported);
  fake.is_invalidated = true;
  EXPECT_EQ(refusal(CU_GRAPH_NODE_TYPE_KERNEL).code, errc::unsupported);
}

TEST_F(StreamRecorder, ChangesARecordingIfItCan) {
  auto first = record();
  ASSERT_TRUE(first);
  fake.calls.clear();
  auto second = record(*std::move(first));
  ASSERT_TRUE(second);
  EXPECT_EQ(fake.calls, (std::vector<std::string>{"look at 1", "look at 0", "update"}));
  fake.can_be_updated = false;
  fake.calls.clear();
  auto third = record(*std::move(second));
  ASSERT_TRUE(third);
  EXPECT_EQ(fake.calls, (std::vector<std::string>{"look at 1", "look at 0", "update", "wait", "end",
                                                  "instantiate"}));
  fake.calls.clear();
  fake.still_runs = true;
  EXPECT_TRUE((*third)->is_running());
  ASSERT_TRUE(lane_->launch(**third, nullptr));
  third->reset();
  EXPECT_EQ(fake.calls, (std::vector<std::string>{"launch", "wait", "end"}));
}

TEST_F(StreamRecorder, KeepsItsRoomsAndWhatItWasToldToRetain) {
  const auto object = std::make_shared<int>(1);
  const std::byte* const first = twin_.workspace(1000).value().data();
  ASSERT_TRUE(twin_.begin_recording());
  twin_.retain(object);
  EXPECT_EQ(twin_.workspace(500).value().data(), first);
  EXPECT_NE(twin_.workspace(5000).value().data(), first);
  EXPECT_EQ(fake.mode, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_EQ(fake.memory.size(), 2U);
  EXPECT_NE(twin_.place_for_failure(), nullptr);
  EXPECT_EQ(fake.nodes.size(), 1U) << "it is cleared at each launch";
  EXPECT_EQ(fake.memory.size(), 3U);
  auto made = twin_.end_recording(nullptr);
  EXPECT_EQ(object.use_count(), 2);
  lane_->replace_twin();
  EXPECT_NE(lane_->twin(), &twin_);
  EXPECT_EQ(fake.memory.size(), 3U) << "recordings use those of the twin before";
  made->reset();
  EXPECT_EQ(object.use_count(), 1);
  EXPECT_EQ(fake.memory.size(), 2U);
  for (int twins = 2; twins < 5; ++twins) {
    lane_->replace_twin();
    EXPECT_NE(lane_->twin(), nullptr);
  }
  lane_->replace_twin();
  EXPECT_EQ(lane_->twin(), nullptr);
}

/// The calls, without looks at nodes and allocations.
std::vector<std::string> captured() {
  std::vector<std::string> all;
  for (const std::string& one : fake.calls)
    if (!one.starts_with("look") && !one.starts_with("allocate")) all.push_back(one);
  return all;
}

TEST_F(StreamRecorder, ALoopIsANodeWithABody) {
  ASSERT_TRUE(twin_.begin_recording());
  fake.nodes = {CU_GRAPH_NODE_TYPE_KERNEL};
  ASSERT_TRUE(twin_.check_recording());
  ASSERT_TRUE(twin_.begin_condition({.type = dtype::i32, .at_most = 7}));
  EXPECT_FALSE(fake.is_capturing) << "one graph at a time";
  ASSERT_TRUE(twin_.begin_body(0));
  EXPECT_EQ(fake.mode, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  ASSERT_TRUE(twin_.record_store(nullptr, 1));
  ASSERT_TRUE(twin_.end_body());
  ASSERT_TRUE(twin_.end_condition());
  fake.nodes.push_back(CU_GRAPH_NODE_TYPE_KERNEL);
  ASSERT_TRUE(twin_.check_recording());
  auto made = twin_.end_recording(nullptr);
  ASSERT_TRUE(made);
  EXPECT_EQ(captured(),
            (std::vector<std::string>{"set", "add a node of type 1 with 1", "capture into 10",
                                      "set again", "capture into 1 behind 3", "instantiate"}));
  EXPECT_EQ((*made)->size(), 7U);
  EXPECT_EQ(fake.memory.size(), 2U) << "for a failure, and to count rounds";
  // Handles of conditions are a part of their graph: it is not changed into another one.
  fake.calls.clear();
  made = record(*std::move(made));
  ASSERT_TRUE(made);
  EXPECT_EQ(captured(), (std::vector<std::string>{"wait", "end", "instantiate"}));
  EXPECT_TRUE(fake.memory.empty());
}

TEST_F(StreamRecorder, ABranchIsANodeWithTwoBodies) {
  ASSERT_TRUE(twin_.begin_recording());
  ASSERT_TRUE(twin_.begin_condition(
      {.what = recorded_condition::kind::when, .type = dtype::i32, .bodies = 2}));
  for (const std::uint64_t body : {0U, 1U}) {
    ASSERT_TRUE(twin_.begin_body(body));
    ASSERT_TRUE(twin_.end_body());
  }
  ASSERT_TRUE(twin_.end_condition());
  ASSERT_TRUE(twin_.end_recording(nullptr));
  EXPECT_EQ(captured(),
            (std::vector<std::string>{"set", "add a node of type 0 with 2", "capture into 10",
                                      "capture into 11", "capture into 1 behind 2", "instantiate",
                                      "wait", "end"}));
}

TEST_F(StreamRecorder, AConditionThatIsNotRecordedToItsEndLeavesNothing) {
  for (const bool within : {false, true}) {
    ASSERT_TRUE(twin_.begin_recording());
    ASSERT_TRUE(twin_.begin_condition({.type = dtype::i32, .at_most = 7}));
    if (within) {
      ASSERT_TRUE(twin_.begin_body(0));
    }
    auto made = twin_.end_recording(nullptr);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, errc::unsupported);
    EXPECT_FALSE(twin_.is_recording());
    EXPECT_FALSE(fake.is_capturing);
    EXPECT_TRUE(fake.memory.empty());
  }
  EXPECT_TRUE(record());
}

}  // namespace
}  // namespace troupe::cuda
