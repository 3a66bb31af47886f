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
                std::int32_t device, std::uint64_t generation, std::uint8_t lane)
      : tracer_(std::move(tracer)),
        about_{.name = type.name,
               .device = device,
               .generation = generation,
               .id = next_id(),
               .lane = lane,
               .sent = std::chrono::steady_clock::now()} {
    tracer_->before_enqueue(about_);
  }

  void refused(const error& why) const { tracer_->after_enqueue(about_, &why); }
  /// Call when the request is about to be published. Returns the completion that replaces `done`.
  [[nodiscard]] completion sent(const reactor& completions, completion done) && {
    tracer_->after_enqueue(about_, nullptr);
    return [me = std::move(*this), &completions, done = std::move(done)](std::byte* reply,
                                                                         error* failure) mutable {
      me.tracer_->before_completion(me.about_);
      me.tracer_->after_completion(me.about_, completions.times_of_ended(me.about_.sent), failure);
      if (done) done(reply, failure);
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
};

}  // namespace troupe
