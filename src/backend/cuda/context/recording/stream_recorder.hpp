#pragma once

#include "backend/cuda/driver.hpp"

#include <troupe/plugin/measured_recording.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_set>
#include <vector>

namespace troupe::cuda {

/// A CUDA graph that can be launched. Its kernels hold addresses, so it keeps what they need.
class executable_graph final : public measured_recording {
 public:
  using kept_objects = std::vector<std::shared_ptr<const void>>;

  ~executable_graph() override;
  executable_graph(const executable_graph&) = delete;
  executable_graph& operator=(const executable_graph&) = delete;

  [[nodiscard]] bool is_running() override;
  [[nodiscard]] std::size_t size() const noexcept override { return nodes_; }
  [[nodiscard]] std::size_t bytes() const noexcept override { return bytes_; }
  [[nodiscard]] result<void> launch(CUstream on, std::byte* reply);

 private:
  friend class stream_recorder;
  explicit executable_graph(const driver& d) noexcept : driver_(d) {}

  const driver& driver_;
  CUcontext context_ = nullptr;
  CUgraphExec graph_ = nullptr;
  CUevent launched_ = nullptr;  // recorded behind each launch
  std::size_t nodes_ = 0;
  std::size_t bytes_ = 0;  // by which less was free once it was made
  kept_objects kept_;
  CUdeviceptr failure_ = 0;  // a reply slot, if its kernels may find that a request fails
  bool has_conditions_ = false;
  std::vector<CUdeviceptr> rounds_;  // counted by its loops
};

/// Captures what one thread enqueues on a stream. Capturing is local to the thread: others may
/// allocate, for example, but must not query the stream.
class stream_recorder {
 public:
  stream_recorder(const driver& d, CUstream stream) noexcept : driver_(d), stream_(stream) {}
  ~stream_recorder() { forget(); }
  stream_recorder(const stream_recorder&) = delete;
  stream_recorder& operator=(const stream_recorder&) = delete;

  [[nodiscard]] bool is_recording() const noexcept { return is_recording_; }
  void retain(std::shared_ptr<const void> object) {
    if (is_recording_) kept_.push_back(std::move(object));
  }
  [[nodiscard]] result<void> begin();
  /// Allocates memory, also while it records. \errors the driver's
  [[nodiscard]] result<void> allocate(CUdeviceptr& made, std::size_t bytes) const;
  /// See `accelerator_lane::place_for_failure`.
  [[nodiscard]] std::byte* place_for_failure();
  /// \errors `unsupported` for an operation that would do something else when it is launched again
  [[nodiscard]] result<void> check();
  [[nodiscard]] result<std::unique_ptr<recorded_work>> end(std::unique_ptr<recorded_work> like);

  // See `accelerator_lane`. A stream captures into one graph at a time: the capture of the graph
  // around a condition ends, and goes on behind the node of the condition.
  [[nodiscard]] result<void> begin_condition(const recorded_condition& c);
  [[nodiscard]] result<void> begin_body(std::uint64_t number);
  [[nodiscard]] result<void> end_body();
  [[nodiscard]] result<void> end_condition();
  [[nodiscard]] result<void> record_store(std::uint64_t* where, std::uint64_t value) const;

 private:
  struct open_condition {
    recorded_condition what;
    CUgraph around = nullptr;
    CUgraphNode node = nullptr;
    CUgraphConditionalHandle handle = 0;
    CUdeviceptr rounds = 0;
    std::vector<CUgraph> bodies{};
  };
  struct captured_so_far {
    CUgraph graph = nullptr;
    std::vector<CUgraphNode> last;
  };

  void forget() noexcept;
  [[nodiscard]] result<captured_so_far> captured() const;
  [[nodiscard]] result<void> look_at(const open_condition& c, bool is_first);
  [[nodiscard]] result<void> capture_into(CUgraph graph, const CUgraphNode* behind);
  [[nodiscard]] result<CUgraph> end_capture();
  [[nodiscard]] std::size_t free_bytes() const noexcept;
  [[nodiscard]] result<void> check(CUgraphNode node) const;
  [[nodiscard]] result<void> check_copy(CUgraphNode node) const;
  [[nodiscard]] result<std::unique_ptr<executable_graph>> instantiate(CUgraph from) const;

  const driver& driver_;
  CUstream stream_;
  bool is_recording_ = false;
  std::unordered_set<CUgraphNode> seen_;  // checked ones
  executable_graph::kept_objects kept_;
  CUdeviceptr failure_ = 0;
  bool is_capturing_ = false;
  CUgraph whole_ = nullptr;  // once there is a condition
  std::vector<open_condition> open_;
  std::vector<CUdeviceptr> rounds_;
};

}  // namespace troupe::cuda
