#pragma once

#include "sending/sending.hpp"

#include <troupe/device/graph_recorder.hpp>

/// Requests that are recorded instead of sent.
namespace troupe::python {

/// The requests that a thread records between `with device.record(...)` and the block's end.
class recording {
 public:
  recording(const device& on, std::string_view name) : of_(on.core().get()), recorder_(on, name) {}

  /// That of the calling thread on this device; null if it records nothing there.
  [[nodiscard]] static recording* on(const device& one) noexcept {
    return current_ != nullptr && current_->of_ == one.core().get() ? current_ : nullptr;
  }
  /// Throws the Python exception if this thread records there. With the GIL.
  static void expect_none(const device& one);

  void begin();
  void end() noexcept { current_ = nullptr; }

  /// Records a request. The answer is there at once; its reply is None, and `gpu.run` has it.
  /// Throws the Python exception for one that cannot be recorded.
  [[nodiscard]] sent_request add(const any_request& request, const request_options& options);
  [[nodiscard]] graph_recorder& recorder() noexcept { return recorder_; }
  /// Throws the first failure as a Python exception.
  void expect_good() const;

 private:
  static thread_local constinit recording* current_;

  const device_endpoint* of_;
  graph_recorder recorder_;
};

}  // namespace troupe::python
