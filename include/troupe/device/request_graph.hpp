#pragma once

#include <troupe/core/future.hpp>
#include <troupe/graph/info.hpp>
#include <troupe/request/any_request.hpp>
#include <troupe/tensor/scalar.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace troupe {

class device;

namespace detail {
class recorded_graph;
}

/// Stands for the reply of a request in a graph: `graph_replies` has the reply of each run.
template <class Reply>
struct reply_in_graph {
  std::uint64_t request = ~std::uint64_t{0};  ///< its number in the graph
  const request_type* type = nullptr;
};

/// Another tensor or number for a parameter of a graph, for one run.
struct graph_argument {
  std::string parameter;
  std::variant<any_tensor, scalar> value;
};

/// The replies of one run of a graph.
class TROUPE_EXPORT graph_replies {
 public:
  graph_replies() = default;
  graph_replies(std::shared_ptr<const detail::recorded_graph> graph,
                std::vector<std::byte> rows) noexcept
      : graph_(std::move(graph)), rows_(std::move(rows)) {}

  /// The reply of a request; of one that ran several times, the last. \errors `no_reply` if it did
  /// not run, because of a condition; `invalid_argument` for a request of another graph
  template <class Reply>
  [[nodiscard]] result<Reply> get(const reply_in_graph<Reply>& of) const {
    auto reply = find(of.request, of.type);
    if (!reply) return std::move(reply).error();
    return reply->template as<Reply>();
  }
  /// The same. Throws `failure`.
  template <class Reply>
  [[nodiscard]] Reply operator[](const reply_in_graph<Reply>& of) const {
    return get(of).value();
  }
  /// The same for a request whose type is known at run time only.
  [[nodiscard]] result<any_reply> find(std::uint64_t request, const request_type* type) const;

 private:
  std::shared_ptr<const detail::recorded_graph> graph_;
  std::vector<std::byte> rows_;
};

/// A list of requests that is sent as one (`device::run`). It is a value: copies share what was
/// recorded. It keeps its tensors, and outlives the workers of its device and `device::restart`.
/// Any thread. Made by `graph_recorder`.
///
/// `device::run` sends it in the lane of the library `graph`. Its requests run in their order;
/// those of other lanes that conflict with any of them run before all or after all.
/// \\errors as `device::ask`; the first failure of a request in the graph, whose message names that
/// request. With arguments also `invalid_argument` for an unknown parameter; `type_mismatch`,
/// `shape_mismatch` and `layout_unsupported` for a tensor with another type, extents, strides or a
/// smaller alignment, or where a view in it would begin within an element; `aliasing` for one that
/// overlaps another tensor of the graph where one of the two is written, and for a part of a tensor
/// (`graph_recorder::parameter`) that does not lie in it, or where the graph would read what it
/// overwrites at the recorded place
class TROUPE_EXPORT request_graph {
 public:
  explicit request_graph(std::shared_ptr<const detail::recorded_graph> graph) noexcept
      : graph_(std::move(graph)) {}

  [[nodiscard]] const std::string& name() const noexcept;
  /// The number of requests, conditions included.
  [[nodiscard]] std::size_t size() const noexcept;
  /// Each request as errors show it, by its number.
  [[nodiscard]] std::vector<std::string> requests() const;
  /// The requests and what orders them, for Graphviz.
  [[nodiscard]] std::string dot() const;
  /// The same as a JSON object {"name", "requests": [{"number", "body", "request"}], "edges":
  /// [{"from", "to", "kind"}]}.
  [[nodiscard]] std::string json() const;
  /// How the worker in service runs it on the lane of this device, and why a GPU does not record
  /// some of its requests. Asks in the order of that lane.
  [[nodiscard]] future<graph::graph_info> info(const device& on) const;

  [[nodiscard]] const std::shared_ptr<const detail::recorded_graph>& recorded() const noexcept {
    return graph_;
  }

 private:
  std::shared_ptr<const detail::recorded_graph> graph_;
};

}  // namespace troupe
