#pragma once

#include <troupe/base/error.hpp>
#include <troupe/base/export.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

struct device_event;

/// A request as tracers see it.
struct traced_request {
  std::string_view name;  ///< `library.operation`; valid for good
  std::int32_t device = 0;
  std::uint64_t generation = 0;  ///< the worker's that is in service
  std::uint64_t id = 0;          ///< the same for one request in all calls
  int lane = 0;
  std::chrono::steady_clock::time_point sent;
  std::uint64_t tag = 0;  ///< `request_options::tag`
};

/// The parts of a request's time. Zero if unknown: for a request that failed before it ran, or
/// whose worker was lost.
struct request_times {
  std::chrono::nanoseconds queue{0};   ///< from sending until its executor was called
  std::chrono::nanoseconds turn{0};    ///< of that, waiting for its turn (`operation::take_turn`)
  std::chrono::nanoseconds launch{0};  ///< in the executor: on a GPU enqueuing, on the CPU the work
  std::chrono::nanoseconds device{0};  ///< from its beginning to its end on the device
  /// Until its sender is answered: on the CPU from its end, on a GPU from when its end was seen.
  std::chrono::nanoseconds wake{0};
};

/// Hears of each request of a device (`device_config::tracer`). A device without a tracer spends
/// nothing on it; one with a tracer has its workers take times, and on a GPU enqueue two stamps
/// beside each request.
///
/// Functions are called by senders and by whichever thread answers, at the same time for different
/// requests, and must not block. Those of one request come in the order below. They must not send
/// requests or wait for them.
class request_tracer {
 public:
  virtual ~request_tracer() = default;

  /// The request is about to be checked and put into the device's mailbox.
  virtual void before_enqueue(const traced_request&) noexcept {}
  /// The request is in the mailbox, or was refused, with the error. A refused request has no
  /// further calls.
  virtual void after_enqueue(const traced_request&, const error* refused) noexcept {
    (void)refused;
  }
  /// Its outcome is known.
  virtual void before_completion(const traced_request&) noexcept {}
  /// Its sender is answered as soon as this returns. `failure` is null for a success.
  virtual void after_completion(const traced_request&, const request_times&,
                                const error* failure) noexcept {
    (void)failure;
  }
  /// Something has happened to the device (`device::events`); often called by its own thread.
  virtual void on_event(const device_event&) noexcept {}
};

/// Several tracers of one device; each hears of everything, in the order of the list.
class TROUPE_EXPORT tracer_list final : public request_tracer {
 public:
  explicit tracer_list(std::vector<std::shared_ptr<request_tracer>> all) : all_(std::move(all)) {}

  void before_enqueue(const traced_request& r) noexcept override;
  void after_enqueue(const traced_request& r, const error* refused) noexcept override;
  void before_completion(const traced_request& r) noexcept override;
  void after_completion(const traced_request& r, const request_times& times,
                        const error* failure) noexcept override;
  void on_event(const device_event& e) noexcept override;

 private:
  std::vector<std::shared_ptr<request_tracer>> all_;
};

}  // namespace troupe
