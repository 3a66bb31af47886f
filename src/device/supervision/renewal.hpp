#pragma once

#include "wire/layout.hpp"

#include <troupe/base/error.hpp>
#include <troupe/base/result.hpp>
#include <troupe/core/future.hpp>
#include <troupe/device/renew_options.hpp>
#include <troupe/tensor/tensor.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace troupe {

class mailbox;
class reactor;

/// Drains the worker in service for `device::renew`: sends a `lane.rest`, which runs alone. Once it
/// has begun, every request that had begun before has ended, and the worker begins no other one.
///
/// Used by the device thread.
class renewal {
 public:
  using clock = std::chrono::steady_clock;

  /// A `lane.rest` that was sent.
  struct rest {
    std::uint16_t slot = 0;
    std::uint64_t ticket = 0;
    any_tensor until;
  };
  using rest_sender = std::function<result<rest>()>;

  renewal(mailbox& requests, reactor& completions) noexcept
      : requests_(requests), completions_(completions) {}

  /// Adds a call that is answered by a worker with a greater number than `after`.
  void add(std::shared_ptr<promise<void>> answer, std::uint64_t after, const renew_options& how,
           rest_sender send);
  [[nodiscard]] bool is_wanted() const noexcept { return !calls_.empty(); }
  /// A worker with a greater number answers all calls.
  [[nodiscard]] std::uint64_t after() const noexcept;

  /// Goes on. True once the worker in service is drained. `ready`: the next one can take over.
  /// Precondition: a worker is in service.
  [[nodiscard]] bool look(bool ready, clock::time_point now);
  /// When to look again without an event.
  [[nodiscard]] clock::time_point next_look() const noexcept { return next_look_; }
  /// Since when requests have waited. Precondition: the worker is drained.
  [[nodiscard]] clock::time_point since() const noexcept { return *since_; }

  /// Answers the requests that have completed, and ends the rest: it is answered, and no worker
  /// runs it. `segment`: that of the worker which has the mailbox, and is about to end.
  void poll_and_withdraw(const wire::worker_header* segment);
  /// The worker with this number serves: answers the calls that waited for it.
  void note_service(std::uint64_t number);
  /// Fails all calls, and lets the worker go on.
  void fail(const error& why);
  /// The same once no worker has the mailbox, and its requests have ended.
  void end(const error& why) {
    forget_rest();
    fail(why);
  }

 private:
  struct call {
    std::shared_ptr<promise<void>> answer;
    std::uint64_t after = 0;
    std::chrono::nanoseconds drain{};
  };

  [[nodiscard]] bool has_begun();
  void let_go();
  void forget_rest() noexcept;
  [[nodiscard]] bool is_over() const noexcept;

  mailbox& requests_;
  reactor& completions_;
  rest_sender send_;
  std::vector<call> calls_;
  std::optional<rest> rest_;
  // The rest ends by itself: it drains for no call any more.
  bool is_let_go_ = false;
  std::optional<clock::time_point> since_;  // the time at which it began to drain
  clock::time_point next_look_ = clock::time_point::max();
};

}  // namespace troupe
