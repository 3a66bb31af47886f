#include "device/endpoint.hpp"
#include "device/graph/recorded_graph.hpp"
#include "device/mailbox/operands.hpp"
#include "wire/reply.hpp"

#include <troupe/device/device.hpp>

#include <fmt/format.h>

#include <cstring>
#include <span>
#include <utility>

namespace troupe {
namespace {

using detail::recorded_graph;

/// One run of a graph, until it is answered.
struct graph_call {
  explicit graph_call(completion_driver& driver) : answer(&driver) {}

  /// The request to be changed for this run.
  [[nodiscard]] graph::run& changed() {
    if (request != &own) own = *request;
    request = &own;
    return own;
  }

  std::shared_ptr<const recorded_graph> graph;
  std::weak_ptr<device_endpoint> on;
  request_options options;
  const graph::run* request = nullptr;  // the graph's, unless it was changed
  graph::run own;
  promise<graph_replies> answer;
  bool is_second = false;
};

// A tensor is a field of a request in the graph, and not one of `graph::run`.
void name_operand(const graph_call& call, device_endpoint& on, error& why) {
  switch (why.code) {
    case errc::stale_buffer:
    case errc::tainted_buffer:
    case errc::frozen_buffer:
    case errc::foreign_buffer:
      break;
    default:
      return;
  }
  auto views = graph::roots_of(call.graph->what, *call.request);
  if (!views) return;
  operand_list kept;
  outgoing_operands operands(request_type_of<graph::run>(), on.memory(), on.host_memory(), kept);
  // In the order of the request, which has its outputs first.
  for (const bool reads : {false, true}) {
    for (std::size_t i = 0; i < views->size(); ++i) {
      const access role = call.graph->what.roots[i].role;
      if ((role == access::read) != reads) continue;
      auto place = operands.locate(call.graph->user_of(i), (*views)[i], role);
      if (place || place.error().code != why.code) continue;
      why.message = std::move(place).error().message;
      return;
    }
  }
}

std::vector<std::byte> rows_of(const any_tensor& results) {
  if (results.null()) return {};
  const std::span rows(results.address(), static_cast<std::size_t>(results.count()));
  return {rows.begin(), rows.end()};
}

result<void> send(const std::shared_ptr<graph_call>& call, device_endpoint& to);

// True if the memory of the definition was overwritten, and the request has been sent again.
bool mended(const std::shared_ptr<graph_call>& call, device_endpoint& on, const error& why) {
  const std::vector<std::byte>& bytes = call->graph->bytes;
  std::byte* const there = call->request->definition.address();
  if (why.code != errc::protocol_violation || call->is_second ||
      std::memcmp(there, bytes.data(), bytes.size()) == 0)
    return false;
  std::memcpy(there, bytes.data(), bytes.size());
  call->is_second = true;
  (void)send(call, on);
  return true;
}

void answer(const std::shared_ptr<graph_call>& call, error* failure) {
  const auto on = call->on.lock();
  if (failure == nullptr) {
    graph_replies replies(call->graph, rows_of(call->own.results));
    if (!call->own.results.null()) {
      call->graph->give_back(std::exchange(call->own.results, {}));
    }
    return call->answer.set_value(std::move(replies));
  }
  if (failure->code == errc::device_fault) {
    call->graph->has_faulted.store(true, std::memory_order_relaxed);
  }
  if (on && mended(call, *on, *failure)) return;
  if (on) name_operand(*call, *on, *failure);
  call->answer.set_error(std::move(*failure));
}

result<void> send(const std::shared_ptr<graph_call>& call, device_endpoint& to) {
  // One that is stepped waits for its requests, too. Both types have the fields of `graph::run`.
  const request_type& type =
      call->request->stepped ? request_type_of<graph::run_conditional>() : *call->graph->sent_as;
  const std::uint8_t lane = to.lane_for(type);
  to.expect_graphs(lane);
  return detail::send(to, type, call->request, call->options, lane,
                      [call](std::byte*, error* failure) { answer(call, failure); });
}

}  // namespace

future<graph_replies> device::run(const request_graph& graph,
                                  const request_options& options) const {
  return run(graph, {}, options);
}

future<graph_replies> device::run(const request_graph& graph,
                                  const std::vector<graph_argument>& arguments,
                                  const request_options& options) const {
  auto call = std::make_shared<graph_call>(core_->driver());
  call->graph = graph.recorded();
  call->on = core_;
  call->options = options;
  call->request = &call->graph->request;
  future<graph_replies> done = call->answer.get_future();
  const auto refuse = [&](error why) {
    why.device = ordinal();
    why.request = fmt::format("{} {}", graph::run::name, graph.name());
    call->answer.set_error(std::move(why));
    return std::move(done);
  };
  if (!arguments.empty()) {
    auto roots = call->graph->with(arguments);
    if (!roots) return refuse(std::move(roots).error());
    auto values = call->graph->values_with(arguments);
    if (!values) return refuse(std::move(values).error());
    graph::run& run = call->changed();
    run.values = *std::move(values);
    run.reads.clear();
    run.writes.clear();
    run.updates.clear();
    call->graph->list_roots(*roots, run);
  }
  if (call->graph->what.replies != 0) {
    auto results = call->graph->take_results(*this);
    if (!results) return refuse(std::move(results).error());
    call->changed().results = *std::move(results);
  }
  if (call->graph->has_faulted.load(std::memory_order_relaxed) && core_->memory().on_device()) {
    call->changed().stepped = true;
  }
  (void)send(call, *core_);
  return done;
}

result<any_reply> graph_replies::find(std::uint64_t request, const request_type* type) const {
  const auto refuse = [](errc code, std::string what) {
    return error{.code = code, .message = "graph_replies: " + std::move(what)};
  };
  const bool is_one = graph_ && request < graph_->what.nodes.size() && type != nullptr &&
                      graph_->type_of(graph_->what.nodes[request]) == type;
  if (!is_one) return refuse(errc::invalid_argument, "the request is one of another graph");
  const std::uint64_t row = graph_->what.nodes[request].reply;
  if (!type->has_reply()) return refuse(errc::invalid_argument, "the request has no reply");
  wire::reply_slot slot;
  std::memcpy(static_cast<void*>(&slot), rows_.data() + row * sizeof(slot), sizeof(slot));
  if (slot.ticket == 0) {
    return refuse(errc::no_reply,
                  fmt::format("request {} of {} did not run", request, graph_->name));
  }
  if (type->described_reply != nullptr) {
    any_value value(*type->described_reply);
    std::vector<wire::operand> none;
    const auto bytes =
        std::span(slot.bytes).first(std::min<std::size_t>(slot.reply_bytes, sizeof(slot.bytes)));
    if (auto decoded = wire::decode(value.type(), value.data(), bytes, {}, none); !decoded) {
      return std::move(decoded).error();
    }
    return any_reply(*type, reinterpret_cast<std::byte*>(&value));
  }
  if (type->reply_can_be != nullptr && !type->reply_can_be(slot.bytes)) {
    return refuse(errc::protocol_violation, "an invalid reply");
  }
  return any_reply(*type, slot.bytes);
}

const std::string& request_graph::name() const noexcept { return graph_->name; }
std::size_t request_graph::size() const noexcept { return graph_->what.nodes.size(); }
future<graph::graph_info> request_graph::info(const device& on) const {
  return on.ask(graph::info{.label = graph_->name, .digest = graph_->request.digest});
}
std::vector<std::string> request_graph::requests() const {
  std::vector<std::string> all;
  all.reserve(size());
  for (std::uint64_t i = 0; i < size(); ++i)
    all.push_back(graph_->text_at(i));
  return all;
}

}  // namespace troupe
