#pragma once

#include "memory/memory_pool.hpp"

#include <troupe/core/actor_ref.hpp>
#include <troupe/core/future.hpp>
#include <troupe/device/device_description.hpp>
#include <troupe/device/events.hpp>
#include <troupe/device/health.hpp>
#include <troupe/device/library_actor.hpp>
#include <troupe/device/renew_options.hpp>
#include <troupe/device/request_options.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

class copy_pool;
struct device_telemetry;
enum class placement : std::uint8_t;

/// A device as everything above it knows it: a stable address for requests and memory. Thread-safe.
class device_endpoint {
 public:
  device_endpoint() = default;
  device_endpoint(const device_endpoint&) = delete;
  device_endpoint& operator=(const device_endpoint&) = delete;
  virtual ~device_endpoint() = default;

  // Requests.

  /// How to treat a request that finds the mailbox full.
  enum class if_full : std::uint8_t {
    as_configured,
    wait,    ///< it waits for a slot, however the device is configured
    refuse,  ///< likewise it never waits
  };
  /// Whether another request follows in the lane. If so, the lane does not stop for this one's
  /// mark, which then arrives a little later: for requests that take much longer than that.
  enum class next_in_lane : bool { is_unknown, follows };
  /// A closed request takes its place in the order, but its worker may begin it only after `open`.
  enum class sent_as : bool { open, closed };
  struct manner {
    std::uint8_t lane = 0;
    if_full full = if_full::as_configured;
    next_in_lane next = next_in_lane::is_unknown;
    sent_as as = sent_as::open;
  };
  /// Identifies a request that was sent: its slot, valid until the slot gets another ticket.
  struct sent_request {
    std::uint16_t slot = 0;
    std::uint64_t ticket = 0;
  };

  /// Checks a request and sends it; the request is consumed. `done` is called exactly once,
  /// immediately if the request is refused. An empty `done` makes it a `tell`.
  /// \returns the reason if it was refused
  virtual result<sent_request> send(const request_type& type, const void* request,
                                    const request_options& options, detail::completion&& done,
                                    manner how) = 0;
  /// The reason why the device takes no requests of this type; none if it does.
  [[nodiscard]] virtual std::optional<error> refusal_of(const request_type& type) const = 0;
  /// The request sees all stores made before this call. Each request that was sent closed is opened
  /// once, even if it was answered early; none is opened after the device has gone.
  virtual void open(std::uint16_t slot) noexcept = 0;
  /// Cancels the request unless it has begun. From any thread: the device thread looks at the
  /// record, and the future says whether the request was cancelled.
  [[nodiscard]] virtual future<bool> cancel(sent_request one) = 0;
  [[nodiscard]] virtual bool would_wait() noexcept = 0;
  /// Every request sent before the call has a smaller ticket.
  [[nodiscard]] virtual std::uint64_t next_ticket() const noexcept = 0;
  /// How many requests may wait or run at once.
  [[nodiscard]] virtual std::uint32_t capacity() const noexcept = 0;
  /// Completes the futures of requests.
  [[nodiscard]] completion_driver& driver() const noexcept { return *driver_; }

  /// The lanes of a library, chosen by the device's policy, and its name, which lives as long as
  /// they do.
  struct library_lanes {
    std::string_view library;
    std::shared_ptr<detail::lane_group> lanes;
  };
  /// Returns the same lanes for the same name.
  [[nodiscard]] virtual library_lanes lanes_of(std::string_view library) = 0;
  /// Returns `n` lanes of its own.
  [[nodiscard]] virtual library_lanes new_lanes_of(std::string_view library, int n) = 0;
  /// The next lane for a request of this type, among those of its library. Takes no lock.
  [[nodiscard]] virtual std::uint8_t lane_for(const request_type& type) = 0;

  // Memory.

  [[nodiscard]] virtual result<detail::buffer_ref> allocate(memory_space space, std::uint64_t bytes,
                                                            placement where = placement{}) = 0;
  [[nodiscard]] virtual memory_pool& memory() noexcept = 0;
  [[nodiscard]] virtual memory_pool& host_memory() noexcept = 0;
  /// Returns when every request whose sender may have missed a buffer flag that this thread set
  /// (seq_cst) before has its place in the order. Waits only for senders between their check of the
  /// flags and their ticket.
  virtual void await_senders() const noexcept = 0;
  /// For new tensors: the rest of the limit, and on a GPU at most the GPU's free memory.
  [[nodiscard]] virtual std::uint64_t free_bytes() const = 0;
  /// Changes the access rights of a buffer's memory in every worker, present and future.
  [[nodiscard]] virtual future<void> protect(detail::buffer_ref buffer, bool read_only) = 0;
  /// Names the request that left part of the tensor undefined, unless earlier requests overwrite
  /// that part; null if there is none. Precondition: the memory belongs to this device.
  [[nodiscard]] virtual taint_cause tainted_by(const any_tensor& t) = 0;
  [[nodiscard]] virtual copy_pool& copiers() noexcept = 0;

  /// Mapped tensors use reserved lanes, so requests never queue behind them.
  static constexpr int mapping_lanes = 8;
  /// Takes a lane for another mapped tensor, if one is free; until `leave_mapping_lane`.
  [[nodiscard]] virtual std::optional<std::uint8_t> take_mapping_lane() noexcept = 0;
  virtual void leave_mapping_lane(std::uint8_t lane) noexcept = 0;
  /// Makes the worker check the flags that its requests wait for and the program sets.
  virtual void wake_worker() noexcept = 0;
  /// The program is about to give back a mapped tensor, which it has at `at`: for a journal.
  virtual void note_unmapped(std::uint64_t ticket, const any_tensor& t, const std::byte* at,
                             access role) noexcept = 0;
  /// Graphs run on this lane: standbys prepare to record there.
  virtual void expect_graphs(std::uint8_t lane) noexcept = 0;

  // State and lifetime.

  [[nodiscard]] virtual std::int32_t ordinal() const noexcept = 0;
  [[nodiscard]] virtual const device_description& description() const noexcept = 0;
  [[nodiscard]] virtual device_state state() const noexcept = 0;
  /// True once the device takes no more requests.
  [[nodiscard]] bool gone() const noexcept {
    const device_state now = state();
    return now == device_state::stopped || now == device_state::condemned;
  }
  [[nodiscard]] virtual std::uint64_t generation() const noexcept = 0;
  [[nodiscard]] virtual device_health health() const = 0;
  [[nodiscard]] virtual device_statistics statistics() const = 0;
  [[nodiscard]] virtual device_telemetry telemetry() const = 0;
  [[nodiscard]] virtual std::optional<pid_t> worker_pid() const noexcept = 0;
  [[nodiscard]] virtual std::vector<quarantined_request> quarantine() const = 0;
  /// Forgets the faults of a request, or of all. False if there were none.
  virtual bool forgive(std::optional<std::uint64_t> request) = 0;
  [[nodiscard]] virtual std::vector<device_event> events(std::uint64_t after) const = 0;
  /// Its place in the tree of actors.
  [[nodiscard]] virtual any_actor_ref guard() const = 0;
  /// Calls `watcher` soon and with each new generation, as a continuation; with no value whenever
  /// the device has stopped.
  virtual void watch_generation(unique_function<void(std::optional<std::uint64_t>)> watcher) = 0;
  /// Runs `command` on the device thread. False if that has ended.
  virtual bool execute(unique_function<void()> command) = 0;
  /// Calls `look` on the device thread repeatedly, until it returns true or the device is gone: for
  /// conditions without an event.
  virtual void look_until(unique_function<bool()> look) = 0;
  /// Waits until no request is in flight. False if the timeout expired.
  virtual bool drain(std::chrono::nanoseconds timeout) = 0;
  virtual void stop(error reason) = 0;
  [[nodiscard]] virtual result<void> restart() = 0;
  [[nodiscard]] virtual future<void> renew(const renew_options& how) = 0;

 protected:
  /// Once, before the device is shared.
  void set_driver(completion_driver& driver) noexcept { driver_ = &driver; }

 private:
  completion_driver* driver_ = nullptr;
};

}  // namespace troupe
