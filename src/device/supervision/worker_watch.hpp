#pragma once

#include "device/mailbox/record.hpp"
#include "device/supervision/incarnation.hpp"
#include "device/supervision/loss/recovery.hpp"
#include "device/supervision/supervisor_environment.hpp"
#include "wire/layout.hpp"

#include <troupe/device/config.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace troupe {

class device_source;
class reactor;
class role;

/// Detects the loss of the worker in service, by run limits, silence, or an alarm of the device;
/// and that a request's deadline has passed, which costs no worker. It returns the sign of a loss
/// and the time of the next check; its owner deals with the worker.
///
/// Senders may call the functions that say so; all else belongs to the device thread.
class worker_watch {
 public:
  using clock = std::chrono::steady_clock;

  /// `on_device`: the worker has queues, in which requests wait for one another.
  worker_watch(reactor& completions, const device_config& config, bool on_device) noexcept
      : completions_(completions), config_(config), on_device_(on_device) {}

  // For any thread, after it has sent a request. Each returns true if the device thread must be
  // woken.

  /// Schedules a check of the request at its deadline.
  [[nodiscard]] bool schedule_check(std::int64_t at_ns) noexcept;
  /// The request has a run limit of its own.
  [[nodiscard]] bool note_run_limit(std::chrono::nanoseconds limit, clock::time_point now) noexcept;
  [[nodiscard]] bool note_busy() noexcept {
    return !watching_.load(std::memory_order_relaxed) && !watching_.exchange(true);
  }

  /// How often a request must be observed to begin: the limit, and the excess, are accurate to a
  /// part of the limit.
  [[nodiscard]] static std::chrono::nanoseconds look_interval(
      std::chrono::nanoseconds limit) noexcept;

  // For the device thread.

  [[nodiscard]] clock::time_point next_look(clock::time_point now) const noexcept;
  [[nodiscard]] bool is_due(clock::time_point now) const noexcept;
  /// A fresh worker has the mailbox.
  void begin(clock::time_point now) noexcept;

  /// Fails requests beyond their deadlines, and looks for a request that runs beyond its limit.
  [[nodiscard]] std::optional<sign_of_loss> check_limits(const role& held, clock::time_point now);
  /// Looks for signs of life, and asks for one if there are none. `active` may be null.
  [[nodiscard]] std::optional<sign_of_loss> check_progress(const role& held, incarnation* active,
                                                           clock::time_point now);
  /// Some process has met a fault on this device; the event does not name it. If the worker alone
  /// uses the device, and stands still with work in its queues, it is that process: its own driver
  /// would report it only hundreds of milliseconds later. Takes the role. Precondition: a worker is
  /// in service.
  [[nodiscard]] std::optional<sign_of_loss> check_alarm(worker_pair workers,
                                                        supervisor_environment& environment,
                                                        device_source& source);

  /// When a worker that owes an answer on its control socket, or does not read, has kept others
  /// waiting for too long. `takes_over`: all wait for it.
  [[nodiscard]] clock::time_point answer_is_due(const incarnation& worker, bool takes_over) const;
  /// The error for a worker beyond that time.
  [[nodiscard]] static error has_not_answered();

 private:
  [[nodiscard]] bool bring_check_forward(std::int64_t to_ns) noexcept;
  void expire(const role& held, std::uint16_t slot);
  [[nodiscard]] std::uint64_t begun_together(const role& held, const record& r) const;
  [[nodiscard]] std::optional<clock::time_point> end_of_run(const role& held,
                                                            std::span<const std::uint16_t> slots,
                                                            const record& r, clock::time_point now);

  static constexpr std::int64_t no_look = std::numeric_limits<std::int64_t>::max();

  reactor& completions_;
  const device_config& config_;
  const bool on_device_;
  // Senders lower the first and set the second after publishing a request, and wake the device
  // thread if they changed one. The device thread resets them, fences, and walks: `publish` fences,
  // too, so either the sender finds them reset, or the walk finds its request.
  std::atomic<std::int64_t> next_look_ns_{no_look};
  std::atomic<bool> watching_{false};

  // Owned by the device thread.
  std::uint64_t last_progress_ = 0;
  clock::time_point last_progress_at_{};
  bool pinged_ = false;
  // The request that each lane was observed to run, and since when.
  struct seen_run {
    std::optional<std::uint64_t> ticket{};
    clock::time_point since{};
  };
  std::array<seen_run, wire::max_lanes> runs_;
};

}  // namespace troupe
