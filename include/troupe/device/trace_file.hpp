#pragma once

#include <troupe/base/export.hpp>
#include <troupe/base/result.hpp>
#include <troupe/device/request_tracer.hpp>

#include <memory>
#include <string>

namespace troupe {

/// A tracer that writes a file in the Trace Event Format, which Perfetto (ui.perfetto.dev) and
/// chrome://tracing show: a process for each device, a track for each lane, and in it a slice for
/// each request, from its start to its end, with its queue, launch and wake times.
/// \code
///   config.tracer = troupe::trace_file::open("trace.json").get();
/// \endcode
/// The file is complete once the last device that uses it has ended and the tracer is destroyed; it
/// can be read before, as viewers accept a file without its end. Source of the format: "Trace Event
/// Format", The Chromium Authors.
class TROUPE_EXPORT trace_file : public request_tracer {
 public:
  /// Creates the file, or empties it. \errors `system_error` with the path
  [[nodiscard]] static result<std::shared_ptr<trace_file>> open(const std::string& path);
  ~trace_file() override;

  void after_enqueue(const traced_request& r, const error* refused) noexcept override;
  void after_completion(const traced_request& r, const request_times& times,
                        const error* failure) noexcept override;

 private:
  struct parts;
  explicit trace_file(std::unique_ptr<parts> made) noexcept;
  std::unique_ptr<parts> parts_;
};

}  // namespace troupe
