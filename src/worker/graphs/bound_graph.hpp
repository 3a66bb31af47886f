#pragma once

#include "builtin/graph/requests/definition.hpp"
#include "worker/graphs/graph_recordings.hpp"

#include <troupe/plugin/accelerator.hpp>
#include <troupe/plugin/executor.hpp>
#include <troupe/request/any_request.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace troupe::worker {

/// A graph with the operations of this worker, ready to be run by one lane: interprets it, one
/// request after the other. On an accelerator that records, it launches what has been recorded.
class bound_graph final : graph_requests {
 public:
  /// `device`: null if executors return when their work is done.
  /// \errors `library_missing` for an operation that this worker has not; `unsupported` for one
  /// that cannot be in a graph
  [[nodiscard]] static result<std::shared_ptr<bound_graph>> make(graph::definition d,
                                                                 const operation_table& operations,
                                                                 const accelerator* device);

  /// True if it is no longer than its operands make it: it has no loops, and no other operations
  /// than `effort::by_size`.
  [[nodiscard]] bool is_short() const noexcept;

  /// `reply`: that of the whole graph, for failures that an accelerator finds after the call.
  /// `part`: the number of the request that is running, see `graph::part_of`. An accelerator runs
  /// requests after their calls, so it tells only if it is stepped, which waits for each.
  /// \errors of the first request that fails, with its number and its text
  [[nodiscard]] result<void> run(const graph::run& r, lane_context& lane, std::byte* reply,
                                 std::atomic<std::uint64_t>& part);
  /// `unmapped`: counts memory that was unmapped, which recordings may hold. Call before `run`.
  void note_unmapped(std::uint64_t unmapped) {
    if (std::exchange(unmapped_, unmapped) != unmapped) recordings_.forget();
  }
  [[nodiscard]] graph::graph_info info() const;

 private:
  struct step {
    const operation* op = nullptr;  // null for a condition
    std::optional<any_request> request;
  };

  bound_graph(graph::definition d, std::vector<step> steps, std::vector<field_view> numbers,
              const accelerator* device, const operation* copy) noexcept
      : definition_(std::move(d)),
        steps_(std::move(steps)),
        numbers_(std::move(numbers)),
        on_accelerator_(device != nullptr),
        copy_(copy),
        recordings_(definition_, operations(), device != nullptr && device->records_conditions()) {}

  [[nodiscard]] result<void> call(std::uint64_t number, accelerator_lane& on) override {
    return run_node(number, on);
  }
  [[nodiscard]] recorded_condition condition_of(std::uint64_t number) override;
  [[nodiscard]] bool may_record(std::uint64_t number) override;
  [[nodiscard]] std::byte* failure_place() noexcept override { return reply_; }
  [[nodiscard]] std::span<std::byte> reply_of(std::uint64_t number) override;

  [[nodiscard]] std::vector<const operation*> operations() const;
  [[nodiscard]] result<void> check(const graph::run& r) const;
  [[nodiscard]] result<void> bind(std::vector<any_tensor> roots, const std::vector<scalar>& values);
  [[nodiscard]] result<void> run_body(std::uint64_t body, lane_context& lane);
  [[nodiscard]] result<void> run_segments(std::uint64_t body);
  [[nodiscard]] result<void> run_node(std::uint64_t number, lane_context& lane);
  [[nodiscard]] result<void> run_request(std::uint64_t number, lane_context& lane);
  [[nodiscard]] result<void> repeat(std::uint64_t number, lane_context& lane);
  [[nodiscard]] result<std::int64_t> condition(std::uint64_t number, lane_context& lane);
  [[nodiscard]] result<const std::byte*> copied(const any_tensor& condition, std::uint64_t row,
                                                lane_context& lane);
  [[nodiscard]] accelerator_lane& queue() const noexcept {
    return static_cast<accelerator_lane&>(*lane_);
  }
  [[nodiscard]] error at(std::uint64_t number, error why) const;

  const graph::definition definition_;
  std::vector<step> steps_;                // by node
  const std::vector<field_view> numbers_;  // of `definition::values`
  const bool on_accelerator_;
  const operation* const copy_;  // `memory::copy`; null if the worker lacks it
  bool is_bound_ = false;        // all requests hold `roots_` and `values_`
  std::vector<scalar> values_;
  std::vector<any_tensor> roots_;  // the requests hold these
  graph_recordings recordings_;
  std::uint64_t unmapped_ = 0;
  // In a run:
  lane_context* lane_ = nullptr;
  std::atomic<std::uint64_t>* part_ = nullptr;
  bool stepped_ = false;  // it runs one request at a time
  std::byte* reply_ = nullptr;
  std::byte* results_ = nullptr;
};

}  // namespace troupe::worker
