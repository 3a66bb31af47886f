#pragma once

#include "builtin/graph/requests/definition.hpp"

#include <troupe/plugin/accelerator.hpp>
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
  /// that cannot be in a graph
  [[nodiscard]] static result<std::shared_ptr<bound_graph>> make(graph::definition d,
                                                                 const operation_table& operations,
                                                                 bool on_accelerator);

  /// True if it is no longer than its operands make it: it has no loops, and no other operations
  /// than `effort::by_size`.
  [[nodiscard]] bool is_short() const noexcept;

  /// `reply`: that of the whole graph, for failures that an accelerator finds after the call.
  /// `part`: the number of the request that is running, see `graph::part_of`. An accelerator runs
  /// requests after their calls, so it tells only if it is stepped, which waits for each.
  /// \errors of the first request that fails, with its number and its text
  [[nodiscard]] result<void> run(const graph::run& r, lane_context& lane, std::byte* reply,
                                 std::atomic<std::uint64_t>& part);

 private:
  struct step {
    const operation* op = nullptr;  // null for a condition
    std::optional<any_request> request;
  };

  bound_graph(graph::definition d, std::vector<step> steps, std::vector<field_view> numbers,
              bool on_accelerator, const operation* copy) noexcept
      : definition_(std::move(d)),
        steps_(std::move(steps)),
        numbers_(std::move(numbers)),
        on_accelerator_(on_accelerator),
        copy_(copy) {}

  [[nodiscard]] result<void> bind(const graph::run& r);
  [[nodiscard]] result<void> run_body(std::uint64_t body);
  [[nodiscard]] result<void> run_node(std::uint64_t number);
  [[nodiscard]] result<void> run_request(std::uint64_t number);
  [[nodiscard]] result<void> repeat(std::uint64_t number);
  [[nodiscard]] result<std::int64_t> condition(std::uint64_t number);
  [[nodiscard]] result<const std::byte*> copied(const any_tensor& condition, std::uint64_t row);
  [[nodiscard]] accelerator_lane& queue() const noexcept {
    return static_cast<accelerator_lane&>(*lane_);
  }
  [[nodiscard]] error at(std::uint64_t number, error why) const;

  const graph::definition definition_;
  std::vector<step> steps_;                // by node
  const std::vector<field_view> numbers_;  // of `definition::values`
  const bool on_accelerator_;
  const operation* const copy_;  // `memory::copy`; null if the worker lacks it
  std::vector<scalar> values_;
  std::vector<any_tensor> roots_;  // the requests hold those that the last run gave
  // Of the run that runs.
  lane_context* lane_ = nullptr;
  std::atomic<std::uint64_t>* part_ = nullptr;
  bool stepped_ = false;  // it runs one request at a time
  std::byte* reply_ = nullptr;
  std::byte* results_ = nullptr;
};

}  // namespace troupe::worker
