#pragma once

#include "device/completion/reactor.hpp"
#include "device/copy/copy_pool.hpp"
#include "device/device_guard.hpp"
#include "device/submission/mailbox.hpp"
#include "device/submission/valid_requests.hpp"
#include "device/supervision/supervisor.hpp"
#include "memory/memory_pool.hpp"

#include <troupe/core/actor_ref.hpp>
#include <troupe/device/config.hpp>
#include <troupe/device/device_description.hpp>
#include <troupe/device/health.hpp>
#include <troupe/device/request_options.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

namespace troupe {

enum class placement : std::uint8_t;

/// Counts the devices that are about to end, some of them on their own threads; see
/// `device_core::let_go`. Shared by these devices and by an owner that must outlive them.
class ending_devices {
 public:
  void add(int n) {
    const std::lock_guard lock(mutex_);
    count_ += n;
    changed_.notify_all();
  }
  void await_none(std::chrono::nanoseconds timeout) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, [this] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;  // guards `count_`
  std::condition_variable changed_;
  int count_ = 0;
};

/// A device: the stable address behind which workers come and go. Owns the mailbox, the memory, the
/// reactor and the supervisor; sends requests.
class device_core {
 public:
  [[nodiscard]] static result<std::shared_ptr<device_core>> create(
      std::int32_t ordinal, const device_config& config, std::shared_ptr<memory_pool> host_memory,
      std::span<const std::string> uuids_in_use = {});
  /// The same with a backend that was chosen, in an environment that a test may simulate.
  [[nodiscard]] static result<std::shared_ptr<device_core>> create_with(
      chosen_backend backend, std::int32_t ordinal, const device_config& config,
      std::shared_ptr<memory_pool> host_memory, supervisor_environment& environment);
  ~device_core();

  /// How to treat a request that finds the mailbox full.
  enum class if_full : bool {
    as_configured,
    wait,  ///< it waits for a slot, however the device is configured
  };

  /// Whether another request follows in the lane. If so, the lane does not stop for this one's
  /// mark, which then arrives a little later: for requests that take much longer than that.
  enum class next_in_lane : bool { is_unknown, follows };

  /// Checks a request and sends it; the request is consumed. `done` is called exactly once,
  /// immediately if the request is refused. An empty `done` makes it a `tell`.
  /// \returns the reason if it was refused
  result<void> send(const request_type& type, const void* request, const request_options& options,
                    std::uint8_t lane, completion&& done, if_full full = if_full::as_configured,
                    next_in_lane next = next_in_lane::is_unknown) {
    auto sent =
        send_held(type, request, options, lane, std::move(done), full, next, wire::hold::none);
    if (!sent) return std::move(sent).error();
    return {};
  }
  /// Identifies a request that was sent: its slot, valid until the slot gets another ticket.
  struct sent_request {
    std::uint16_t slot = 0;
    std::uint64_t ticket = 0;
  };
  /// The same, for a request that may take its place in the order before its worker may begin it.
  /// \returns also the slot to `open` if `held` is `until_opened`
  result<sent_request> send_held(const request_type& type, const void* request,
                                 const request_options& options, std::uint8_t lane,
                                 completion&& done, if_full full, next_in_lane next,
                                 wire::hold held);
  /// The request sees all stores made before this call. Each request that was sent closed is opened
  /// once, even if it was answered early; none is opened after the device has gone.
  void open(std::uint16_t slot) noexcept { requests_->open(slot); }

  /// Every request sent before the call has a smaller ticket.
  [[nodiscard]] std::uint64_t next_ticket() const noexcept { return requests_->next_ticket(); }

  [[nodiscard]] bool would_wait() noexcept {
    if (config_.full != when_full::wait || requests_->has_free_slot()) return false;
    completions_->try_poll();  // as a sender does, before it waits
    return !requests_->has_free_slot();
  }

  /// Cancels the request unless it has begun. From any thread: the device thread looks at the
  /// record, and the future says whether the request was cancelled.
  future<bool> cancel(sent_request one);

  /// The lanes of a library, chosen by the device's policy, and its name, which lives as long as
  /// they do.
  struct library_lanes {
    std::string_view library;
    std::shared_ptr<detail::lane_group> lanes;
  };
  /// Returns the same lanes for the same name.
  [[nodiscard]] library_lanes lanes_of(std::string_view library);
  /// Returns `n` lanes of its own.
  [[nodiscard]] library_lanes new_lanes_of(std::string_view library, int n);

  /// Mapped tensors use reserved lanes, so requests never queue behind them.
  static constexpr int mapping_lanes = 8;
  /// Takes a lane for another mapped tensor, if one is free; until `leave_mapping_lane`.
  [[nodiscard]] std::optional<std::uint8_t> take_mapping_lane() noexcept;
  void leave_mapping_lane(std::uint8_t lane) noexcept;
  /// Makes the worker check the flags that its requests wait for and the program sets.
  void wake_worker() noexcept { requests_->wake_worker(); }

  [[nodiscard]] result<detail::buffer_ref> allocate(memory_space space, std::uint64_t bytes,
                                                    placement where = placement{});
  /// Returns when every request whose sender may have missed a buffer flag that this thread set
  /// (seq_cst) before has its place in the order. Waits only for senders between their check of the
  /// flags and their ticket; such senders do not block.
  void await_senders() const noexcept;
  /// Lets workers write a frozen buffer again.
  future<void> thaw(detail::buffer_ref buffer);
  [[nodiscard]] device_statistics statistics() const;
  /// Sets the counter of its end. Once, before the device is shared.
  void set_ends(std::shared_ptr<ending_devices> ends) { ends_ = std::move(ends); }
  /// Its place in the tree of actors. Set once, before the device is shared.
  void set_guards(std::shared_ptr<device_guards> guards);
  [[nodiscard]] any_actor_ref guard() const { return guards_->current(); }
  [[nodiscard]] supervisor& watch() noexcept { return *supervisor_; }
  [[nodiscard]] reactor& completions() noexcept { return *completions_; }
  [[nodiscard]] memory_pool& memory() noexcept { return *device_memory_; }
  [[nodiscard]] memory_pool& host_memory() noexcept { return *host_memory_; }
  /// Names the request that left part of the tensor undefined, unless earlier requests overwrite
  /// that part; empty if there is none. Precondition: the memory belongs to this device.
  [[nodiscard]] taint_cause tainted_by(const any_tensor& t);
  [[nodiscard]] copy_pool& copiers() noexcept { return *copiers_; }
  [[nodiscard]] const device_config& config() const noexcept { return config_; }
  [[nodiscard]] std::uint32_t mailbox_capacity() const noexcept { return requests_->capacity(); }
  [[nodiscard]] std::int32_t ordinal() const noexcept { return ordinal_; }
  [[nodiscard]] const device_description& description() const noexcept { return description_; }

 private:
  using deadline = std::optional<std::chrono::steady_clock::time_point>;
  class unsent_slot;

  /// Frees the device: immediately, or on a thread of its own if a continuation holds the last
  /// reference, because the device's thread runs that continuation or waits for it, and the
  /// destructor waits for the thread.
  static void let_go(device_core* unused) noexcept;

  device_core(std::int32_t ordinal, device_config config,
              std::shared_ptr<memory_pool> host_memory) noexcept;

  [[nodiscard]] std::shared_ptr<detail::lane_group> new_lanes(int n);
  [[nodiscard]] static std::shared_ptr<detail::lane_group> lanes_from(std::uint32_t first, int n);
  [[nodiscard]] std::optional<error> not_enabled(const request_type& type) const;
  template <class Take>
  [[nodiscard]] auto await_capacity(deadline until, Take&& take, if_full full)
      -> result<typename decltype(take())::value_type>;
  [[nodiscard]] result<void> fill(std::uint16_t slot, const request_type& type, const void* request,
                                  deadline until, if_full full, wire::hold held);
  [[nodiscard]] result<void> check(const request_type& type, const void* request,
                                   std::span<const std::byte> bytes);
  void abandon_slot(std::uint16_t slot) noexcept;
  template <class Use>
  void with_request(std::uint16_t slot, Use&& use) const;
  void complete_error(std::uint16_t slot, error& failure);
  [[nodiscard]] bool keeps_outputs(std::uint16_t slot, errc code) const;

  const std::int32_t ordinal_;
  const device_config config_;
  device_description description_;  // set once, before the device is shared
  const std::shared_ptr<memory_pool> host_memory_;
  std::shared_ptr<memory_pool> device_memory_;
  std::unique_ptr<copy_pool> copiers_;
  std::shared_ptr<device_guards> guards_;
  std::shared_ptr<ending_devices> ends_;
  std::shared_ptr<mailbox> requests_;
  os::unique_fd blobs_;  // the blobs of workers: see `wire::blob_memory`
  reactor::handle completions_;
  std::atomic<std::uint64_t> refused_{0};  // a count: relaxed
  valid_requests valid_;

  std::mutex lanes_mutex_;                           // guards the next two
  std::shared_ptr<detail::lane_group> common_lane_;  // used if all libraries share one lane
  // The first libraries that were asked for; more of them than there are lanes.
  std::unordered_map<std::string, library_lanes> lanes_;
  std::atomic<std::uint32_t> next_lane_{0};  // relaxed: only spreads
  std::atomic<std::uint32_t> used_mapping_lanes_{
      0};  // a bit each; relaxed: nothing goes with a lane

  // Last: its thread uses everything above and ends first.
  std::unique_ptr<supervisor> supervisor_;
};

}  // namespace troupe
