#pragma once

#include "wire/layout.hpp"
#include "worker/graphs/bound_graph.hpp"

#include <troupe/graph/info.hpp>
#include <troupe/graph/run.hpp>
#include <troupe/plugin/accelerator.hpp>
#include <troupe/plugin/executor.hpp>

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

namespace troupe::worker {

/// The graphs that a worker has run, decoded, the last used first. A lane has its own copy of each,
/// because the tensors of a run are written into it. A copy is checked against the digest that the
/// request states: the memory of the definition may have been overwritten since.
///
/// Any thread; the mutex guards the list. A graph belongs to the lane that runs it: the list is
/// changed by others only while it is not running.
class graph_book {
 public:
  /// `device`: null if executors return when their work is done. Both outlive this.
  graph_book(const operation_table& operations, const accelerator* device) noexcept
      : operations_(operations), device_(device) {}

  /// Adds the operations of `graph::run`, `graph::run_conditional` and `graph::info`.
  void add_to(operation_table& operations) noexcept;
  /// True for a small graph of operations that take microseconds (`effort::by_size`).
  [[nodiscard]] bool is_short(const graph::run& r);
  /// The lanes report their progress there.
  void report_to(wire::worker_header& segment) noexcept { lanes_ = segment.lanes; }
  /// Memory was unmapped: recordings that may hold it are not used any more. Any thread.
  void note_unmapped() noexcept {
    // Relaxed: the program sends nothing that uses the memory before it is mapped again, which
    // orders the requests.
    unmapped_.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  struct entry {
    int lane = 0;
    std::vector<std::int64_t> digest;
    std::shared_ptr<bound_graph> graph;
  };

  [[nodiscard]] result<void> run(const graph::run& r, lane_context& lane, std::byte* reply);
  [[nodiscard]] graph::graph_info info(const graph::info& r, int lane);
  [[nodiscard]] std::shared_ptr<bound_graph> known(const std::vector<std::int64_t>& digest,
                                                   int lane);
  [[nodiscard]] result<std::shared_ptr<bound_graph>> find(const graph::run& r, int lane);

  static constexpr std::size_t most_graphs = 256;

  const operation_table& operations_;
  const accelerator* const device_;
  wire::lane_mark* lanes_ = nullptr;
  std::atomic<std::uint64_t> unmapped_{0};
  std::mutex mutex_;
  std::list<entry> entries_;
};

}  // namespace troupe::worker
