#pragma once

#include "device/completion/reactor.hpp"

#include <troupe/device/request_tracer.hpp>

#include <atomic>
#include <memory>
#include <utility>

namespace troupe {

/// Reports one request to a device's tracer, when it is sent and when it ends.
class request_trace {
 public:
  request_trace(std::shared_ptr<request_tracer> tracer, const request_type& type,
                std::int32_t device, std::uint64_t generation, std::uint8_t lane, std::uint64_t tag)
      : tracer_(std::move(tracer)),
        about_{.name = type.name,
               .device = device,
               .generation = generation,
               .id = next_id(),
               .lane = lane,
               .sent = std::chrono::steady_clock::now(),
               .tag = tag} {
    tracer_->before_enqueue(about_);
  }

  void refused(const error& why) const { tracer_->after_enqueue(about_, &why); }
  /// Call when the request is about to be published. Returns the completion that replaces `done`.
  /// Allocates nothing.
  [[nodiscard]] static completion sent(std::unique_ptr<request_trace> trace,
                                       const reactor& completions, completion done) {
    trace->tracer_->after_enqueue(trace->about_, nullptr);
    trace->done_ = std::move(done);
    return [trace = std::move(trace), &completions](std::byte* reply, error* failure) {
      request_tracer& tracer = *trace->tracer_;
      tracer.before_completion(trace->about_);
      tracer.after_completion(trace->about_, completions.times_of_ended(trace->about_.sent),
                              failure);
      if (trace->done_) trace->done_(reply, failure);
    };
  }

 private:
  // Relaxed: the numbers must only be unique.
  [[nodiscard]] static std::uint64_t next_id() noexcept {
    static constinit std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  std::shared_ptr<request_tracer> tracer_;
  traced_request about_;
  completion done_;
};

}  // namespace troupe
