#pragma once

#include <troupe/base/export.hpp>
#include <troupe/base/result.hpp>
#include <troupe/device/request_tracer.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace troupe {

/// A tracer that writes a file in the Trace Event Format, which Perfetto (ui.perfetto.dev) and
/// chrome://tracing show: a process for each device, a track for each lane, and in it a slice for
/// each request, from its start to its end, with its queue, launch and wake times. A track "device"
/// has the device's events, with a slice for each failover.
/// \code
///   config.tracer = troupe::trace_file::open("trace.json").get();
/// \endcode
/// A thread of its own writes; if requests end faster than it can write, some are missing, and the
/// file says how many. The file is complete once the last device that uses it has ended and the
/// tracer is destroyed; it can be read before, as viewers accept a file without its end. Source of
/// the format: "Trace Event Format", The Chromium Authors.
class TROUPE_EXPORT trace_file final : public request_tracer {
 public:
  static constexpr std::uint64_t default_max_bytes = std::uint64_t{1} << 28;

  /// Creates the file, or empties it. Before it becomes larger than half of `max_bytes`, it is
  /// renamed to "PATH.1", in the place of an earlier one, and a new one begins.
  /// \errors `system_error` with the path, or if there are no more threads
  [[nodiscard]] static result<std::shared_ptr<trace_file>> open(
      const std::string& path, std::uint64_t max_bytes = default_max_bytes);
  ~trace_file() override;

  void after_enqueue(const traced_request& r, const error* refused) noexcept override;
  void after_completion(const traced_request& r, const request_times& times,
                        const error* failure) noexcept override;
  void on_event(const device_event& e) noexcept override;

 private:
  struct parts;
  explicit trace_file(std::unique_ptr<parts> made) noexcept;
  std::unique_ptr<parts> parts_;
};

}  // namespace troupe
