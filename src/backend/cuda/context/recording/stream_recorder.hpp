#pragma once

#include "backend/cuda/driver.hpp"

#include <troupe/plugin/measured_recording.hpp>

#include <cstddef>
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
};

/// Captures what one thread enqueues on a stream. Capturing is local to the thread: others may
/// allocate, for example, but must not query the stream.
class stream_recorder {
 public:
  stream_recorder(const driver& d, CUstream stream) noexcept : driver_(d), stream_(stream) {}
  ~stream_recorder() { forget_failure(); }
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

 private:
  void forget_failure() noexcept;
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
};

}  // namespace troupe::cuda
