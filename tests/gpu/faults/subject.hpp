#pragma once

#include "fault_cases.hpp"
#include "gpu/load.hpp"

#include <troupe/device/device.hpp>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace troupe::gpu_test {

/// Waits, with a bound, until `condition` holds; what it waits for has no event of its own.
template <class Condition>
[[nodiscard]] bool eventually(Condition&& condition,
                              std::chrono::nanoseconds timeout = std::chrono::seconds(20)) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}

/// A device under test, a load for it, and tensors that no fault may change.
class subject {
 public:
  /// Throws `failure` where the device does not work. With operations of its own the program is its
  /// own worker.
  subject(backend_kind backend, const load_config& load,
          void (*own_operations)(operation_table&) = nullptr);

  [[nodiscard]] device& gpu() noexcept { return gpu_; }
  [[nodiscard]] mixed_load& load() noexcept { return load_; }
  [[nodiscard]] bool hostile_workers() const noexcept { return hostile_workers_; }

  /// Waits until a worker serves and a standby is ready.
  [[nodiscard]] bool settle() const;

  [[nodiscard]] const any_tensor& frozen() const noexcept { return frozen_; }
  /// The damage to the frozen tensor and the one that no request names; nothing if both are as they
  /// were, bit by bit.
  [[nodiscard]] std::optional<std::string> changed();

  /// A part of a tensor that no earlier call has returned, so that no two injected requests are the
  /// same bytes: a request that has ended two workers is never run again.
  [[nodiscard]] any_tensor fresh_output();
  /// A vector with memory of its own, which holds zeros; of another length each time, like
  /// `fresh_output`.
  [[nodiscard]] any_tensor own_memory(dtype type);
  /// A fault should have left this undefined: it must be refused as such until it is overwritten.
  /// \returns the defect, else nothing
  [[nodiscard]] std::optional<std::string> taint_amiss(const any_tensor& output,
                                                       std::string_view culprit);

  /// A small question whose answer is known: the sum of `asked_elements` of the frozen tensor.
  [[nodiscard]] future<double> ask_question(const library_actor& where) const;
  [[nodiscard]] double answer() const noexcept { return answer_; }

  /// A snapshot whose counts did not agree: one is taken every few milliseconds, whatever happens.
  [[nodiscard]] std::optional<std::string> counts_amiss() const;

  /// Multiplies matrices of small integers and moves memory about, all of it exact.
  /// \returns the defect, else nothing
  [[nodiscard]] std::optional<std::string> checksum_amiss();

 private:
  void watch_counts(const std::stop_token& end);

  bool hostile_workers_;
  troupe::system system_;
  device gpu_;
  mixed_load load_;
  std::vector<double> values_;
  any_tensor frozen_;
  any_tensor untouched_;
  any_tensor outputs_;
  std::int64_t next_output_ = 0;
  double answer_ = 0;
  mutable std::mutex mutex_;  // guards the next
  std::optional<std::string> counts_amiss_;
  std::jthread watcher_;
};

}  // namespace troupe::gpu_test
