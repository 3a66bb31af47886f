#pragma once

#include "builtin/graph/requests/definition.hpp"

#include <troupe/plugin/executor.hpp>
#include <troupe/request/any_request.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace troupe::worker {

/// A graph with the operations of this worker, ready to be run by one lane: interprets it, one
/// request after the other.
class bound_graph {
 public:
  /// \errors `library_missing` for an operation that this worker has not; `unsupported` for one
  /// that cannot be in a graph, or a condition on an accelerator
  [[nodiscard]] static result<std::shared_ptr<bound_graph>> make(graph::definition d,
                                                                 const operation_table& operations,
                                                                 bool on_accelerator);

  /// `part`: the number of the request whose executor is running, see `graph::part_of`.
  /// \errors of the first request that fails, with its number and its text
  [[nodiscard]] result<void> run(const graph::run& r, lane_context& lane,
                                 std::atomic<std::uint64_t>& part);

 private:
  struct step {
    const operation* op = nullptr;  // null for a condition
    std::optional<any_request> request;
  };

  bound_graph(graph::definition d, std::vector<step> steps) noexcept
      : definition_(std::move(d)), steps_(std::move(steps)) {}

  [[nodiscard]] result<void> bind(const graph::run& r);
  [[nodiscard]] result<void> run_body(std::uint64_t body);
  [[nodiscard]] result<void> run_node(std::uint64_t number);
  [[nodiscard]] result<void> run_request(std::uint64_t number);
  [[nodiscard]] result<void> repeat(std::uint64_t number);
  [[nodiscard]] std::int64_t condition(const graph::node& n) const;
  [[nodiscard]] error at(std::uint64_t number, error why) const;

  const graph::definition definition_;
  std::vector<step> steps_;        // by node
  std::vector<any_tensor> roots_;  // of the last run: the requests hold these
  // Of the run that runs.
  lane_context* lane_ = nullptr;
  std::atomic<std::uint64_t>* part_ = nullptr;
  std::byte* results_ = nullptr;
};

}  // namespace troupe::worker
