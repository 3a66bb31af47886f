#pragma once

#include "builtin/graph/requests/definition.hpp"

#include <troupe/graph/info.hpp>
#include <troupe/plugin/accelerator.hpp>
#include <troupe/plugin/executor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe::worker {

/// True for the same elements, seen in the same way.
[[nodiscard]] bool is_same_operand(const any_tensor& a, const any_tensor& b) noexcept;

/// The requests of a graph, as its recordings call them.
class graph_requests {
 public:
  /// Calls the executor of a request on a queue; for a condition, waits for its value and calls
  /// those of the bodies that run. For each, `graph_recordings::note_called` is called if the queue
  /// is a twin. \errors its own, with the request's number
  [[nodiscard]] virtual result<void> call(std::uint64_t number, accelerator_lane& on) = 0;
  [[nodiscard]] virtual recorded_condition condition_of(std::uint64_t number) = 0;
  [[nodiscard]] virtual bool may_record(std::uint64_t number) = 0;
  /// The place for failures that the device finds.
  [[nodiscard]] virtual std::byte* failure_place() noexcept = 0;
  /// The reply of a request as far as it has been written; empty if it has none.
  [[nodiscard]] virtual std::span<std::byte> reply_of(std::uint64_t number) = 0;

 protected:
  ~graph_requests() = default;
};

/// Records a graph on one lane of an accelerator. Requests that follow each other in one body are a
/// segment: all can be recorded, or none. A segment is called on the lane's twin at its first run,
/// which prepares all that its executors keep there; its second run records it, and from then on it
/// is launched. Segments that cannot be recorded are left to the caller.
///
/// A condition can be recorded if the device looks at conditions by itself and all requests of its
/// bodies can be. It waits until all of these have run on the twin: branches run when they are
/// taken. A condition that cannot be recorded is left to the caller, and its bodies have segments.
///
/// A recording holds addresses and values, so each set of them is a variant with recordings of its
/// own. The address of the results is one of them: a graph that is sent again has the same.
///
/// A view that no request uses, because it tells only which part of a tensor they write, may be
/// another one at each run.
///
/// Recording decides how soon an answer comes, never which: if it fails, the segment is called.
///
/// Used by the thread that owns the lane.
class graph_recordings {
 public:
  struct segment {
    std::size_t first = 0;  ///< in its body
    std::size_t count = 0;
    std::size_t number = 0;
    bool is_recorded = false;
    bool is_warm = false;  ///< it has run on this twin, as it will be recorded
    int unsettled = 0;     ///< runs on the twin after which it could not be recorded yet
  };

  /// `operations`: by node; null for a condition. Both outlive this.
  graph_recordings(const graph::definition& d, std::span<const operation* const> operations,
                   bool records_conditions);
  graph_recordings(const graph_recordings&) = delete;
  graph_recordings& operator=(const graph_recordings&) = delete;
  ~graph_recordings() = default;

  /// Begins a run with these tensors and values. True if all of it is recorded: then no request is
  /// called.
  [[nodiscard]] bool begin(std::span<const any_tensor> roots, std::span<const scalar> values,
                           const std::byte* results);
  /// The same for a run without recordings.
  void note_called() noexcept { ++runs_; }
  /// A request was called on the twin; `is_provisional`: in a way that may change.
  void note_called(std::uint64_t number, bool is_provisional);
  /// False if all requests of the run must be called: the recordings of that many variants still
  /// run, or recording was given up.
  [[nodiscard]] bool records() const noexcept { return current_ != nullptr; }
  [[nodiscard]] std::span<const segment> segments_of(std::uint64_t body) const noexcept {
    return bodies_[body];
  }
  /// Runs a segment that is recorded. \errors those of its requests; `device_fault`
  [[nodiscard]] result<void> run(std::uint64_t body, std::size_t segment_in_body,
                                 graph_requests& requests, accelerator_lane& lane);
  /// Memory was unmapped: recordings may hold it.
  void forget();
  [[nodiscard]] graph::graph_info info() const;
  /// True if requests of the graph have the same operands and values with these.
  [[nodiscard]] bool are_same(std::span<const any_tensor> a,
                              std::span<const any_tensor> b) const noexcept;

 private:
  struct kept_reply {
    std::uint64_t node = 0;
    std::vector<std::byte> bytes;  ///< as far as executors, and not the device, write it
  };
  struct recording {
    std::unique_ptr<recorded_work> work;
    std::unique_ptr<recorded_work> old;  ///< for other tensors; may be changed into `work`
    std::vector<kept_reply> replies;
  };
  struct variant {
    std::vector<any_tensor> roots;
    std::vector<scalar> values;
    const std::byte* results = nullptr;
    std::vector<recording> recordings;  ///< by segment
    std::uint64_t used = 0;             ///< in this run

    [[nodiscard]] bool is_running() const;
  };

  /// Whether a request can be recorded, by its last call on this twin.
  enum class readiness : std::uint8_t { cold, provisional, warm };

  [[nodiscard]] bool is_of(const variant& v, std::span<const any_tensor> roots,
                           std::span<const scalar> values, const std::byte* results) const noexcept;
  [[nodiscard]] std::string why_called(std::uint64_t number) const;
  template <class F>
  void for_each_request(std::span<const std::uint64_t> nodes, F f, bool in_a_body = false) const;
  void split();
  void split(std::uint64_t body);
  void give_up(std::string why);
  [[nodiscard]] variant* find(std::span<const any_tensor> roots, std::span<const scalar> values,
                              const std::byte* results);
  [[nodiscard]] variant* place_for_another();
  [[nodiscard]] std::span<const std::uint64_t> nodes_of(std::uint64_t body,
                                                        const segment& s) const noexcept;
  [[nodiscard]] result<void> launch(const recording& what, graph_requests& requests,
                                    accelerator_lane& lane);
  [[nodiscard]] result<void> warm_up(std::span<const std::uint64_t> nodes, segment& s,
                                     graph_requests& requests, accelerator_lane& lane,
                                     accelerator_lane& twin);
  void settle(std::span<const std::uint64_t> nodes, segment& s);
  [[nodiscard]] result<void> record(std::span<const std::uint64_t> nodes, recording& into,
                                    graph_requests& requests, accelerator_lane& lane,
                                    accelerator_lane& twin);
  [[nodiscard]] result<void> record(std::uint64_t number, graph_requests& requests,
                                    accelerator_lane& twin);
  [[nodiscard]] result<void> record_condition(std::uint64_t number, graph_requests& requests,
                                              accelerator_lane& twin);
  void leave_out(std::uint64_t number, const error& why);

  const graph::definition& definition_;
  std::vector<std::uint64_t> used_;   // roots
  std::vector<std::string> why_not_;  // by node: why it is never recorded; empty if it may be
  std::vector<bool> has_failed_;      // by node: recording it has failed once
  std::vector<readiness> readiness_;  // by node
  std::vector<std::vector<segment>> bodies_;
  std::size_t segments_ = 0;      // recorded ones
  std::size_t all_segments_ = 0;  // of bodies that are not recorded with their condition
  bool is_whole_ = false;         // all of the graph is in one recorded segment
  bool must_split_ = false;       // `why_not_` has changed
  std::string gave_up_;
  int failures_ = 0;          // whole recordings that failed
  bool tries_again_ = false;  // a request's recording has failed for the first time
  std::vector<std::unique_ptr<variant>> variants_;
  std::vector<std::unique_ptr<variant>> retired_;  // they may run
  variant* current_ = nullptr;
  const accelerator_lane* twin_ = nullptr;  // on which segments are warm
  std::uint64_t runs_ = 0;
  std::uint64_t window_ = 0;  // the run in which the count of misses began
  std::uint64_t misses_ = 0;
  std::uint64_t recorded_ = 0;
  std::uint64_t launches_ = 0;
};

}  // namespace troupe::worker
