// Conditions within recordings: a node whose bodies are graphs.

#include "backend/cuda/context/recording/conditions.hpp"
#include "backend/cuda/context/recording/stream_recorder.hpp"
#include "base/try.hpp"

#include <utility>

namespace troupe::cuda {
namespace {

CUgraphConditionalNodeType type_of(recorded_condition::kind what) noexcept {
  switch (what) {
    case recorded_condition::kind::when:
      return CU_GRAPH_COND_TYPE_IF;
    case recorded_condition::kind::choose:
      return CU_GRAPH_COND_TYPE_SWITCH;
    case recorded_condition::kind::repeat:
      break;
  }
  return CU_GRAPH_COND_TYPE_WHILE;
}

}  // namespace

result<stream_recorder::captured_so_far> stream_recorder::captured() const {
  CUstreamCaptureStatus status{};
  captured_so_far all;
  const CUgraphNode* last = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  std::size_t count = 0;
  TRY(cuda::check(
      driver_.cuStreamGetCaptureInfo(stream_, &status, nullptr, &all.graph, &last, &edges, &count),
      "cuStreamGetCaptureInfo"));
  if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE || all.graph == nullptr) {
    return error{.code = errc::unsupported, .message = "the stream is not captured any more"};
  }
  all.last.assign(last, last + count);
  return all;
}

result<void> stream_recorder::capture_into(CUgraph graph, const CUgraphNode* behind) {
  TRY(cuda::check(driver_.cuStreamBeginCaptureToGraph(stream_, graph, behind, nullptr,
                                                      behind != nullptr ? 1 : 0,
                                                      CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                  "cuStreamBeginCaptureToGraph"));
  is_capturing_ = true;
  return {};
}

result<void> stream_recorder::look_at(const open_condition& c, bool is_first) {
  TRY(set_condition(c.handle, c.what, reinterpret_cast<std::uint64_t*>(c.rounds), is_first,
                    place_for_failure(), stream_));
  return check();
}

result<void> stream_recorder::begin_condition(const recorded_condition& c) {
  // Before the first condition: a body would clear it at each round.
  if (place_for_failure() == nullptr) {
    return error{.code = errc::out_of_memory, .message = "no memory for a failure"};
  }
  open_condition made{.what = c};
  if (c.what == recorded_condition::kind::repeat) {
    TRY(allocate(made.rounds, sizeof(std::uint64_t)));
    rounds_.push_back(made.rounds);
  }
  CUcontext context = nullptr;
  TRY(cuda::check(driver_.cuCtxGetCurrent(&context), "cuCtxGetCurrent"));
  made.around = TRY(captured()).graph;
  TRY(cuda::check(driver_.cuGraphConditionalHandleCreate(&made.handle, made.around, context, 0,
                                                         CU_GRAPH_COND_ASSIGN_DEFAULT),
                  "cuGraphConditionalHandleCreate"));
  TRY(look_at(made, true));
  const auto before = TRY(captured());
  CUgraphNodeParams node{};
  node.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  node.conditional.handle = made.handle;
  node.conditional.type = type_of(c.what);
  node.conditional.size = static_cast<unsigned>(c.bodies);
  node.conditional.ctx = context;
  TRY(cuda::check(driver_.cuGraphAddNode(&made.node, made.around, before.last.data(), nullptr,
                                         before.last.size(), &node),
                  "cuGraphAddNode"));
  made.bodies.assign(node.conditional.phGraph_out, node.conditional.phGraph_out + c.bodies);
  seen_.insert(made.node);
  const bool is_first = open_.empty() && whole_ == nullptr;
  open_.push_back(std::move(made));
  const CUgraph ended = TRY(end_capture());
  if (is_first) whole_ = ended;
  return {};
}

result<void> stream_recorder::begin_body(std::uint64_t number) {
  return capture_into(open_.back().bodies[number], nullptr);
}

result<void> stream_recorder::end_body() {
  const open_condition& c = open_.back();
  if (c.what.what == recorded_condition::kind::repeat) TRY(look_at(c, false));
  TRY(end_capture());
  return {};
}

result<void> stream_recorder::end_condition() {
  const open_condition c = std::move(open_.back());
  TRY(capture_into(c.around, &c.node));
  open_.pop_back();
  return {};
}

result<void> stream_recorder::record_store(std::uint64_t* where, std::uint64_t value) const {
  return store_word(where, value, stream_);
}

}  // namespace troupe::cuda
