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

/// How many devices are about to end, of which some by themselves, see `device_core::let_go`.
/// Shared by them and by whoever wants to outlive them.
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
      std::shared_ptr<memory_pool> host_memory, supervisor_environment& around);
  ~device_core();

  /// What becomes of a request that finds the mailbox full.
  enum class no_room : bool {
    as_configured,
    wait,  ///< it waits for room, however the device is configured
  };

  /// Whether a lane has more to do once a request has ended, and is not to stop for its mark, which
  /// then comes a little later: for requests that take much longer than that.
  enum class next_in_lane : bool { is_unknown, follows };

  /// Checks a request, and sends it; the request is used up. `done` is called exactly once, at once
  /// when the request is refused. An empty `done` makes it a `tell`.
  /// \returns why it was refused, when it was
  result<void> send(const request_type& type, const void* request, const request_options& options,
                    std::uint8_t lane, completion&& done, no_room full = no_room::as_configured,
                    next_in_lane next = next_in_lane::is_unknown) {
    auto sent =
        send_held(type, request, options, lane, std::move(done), full, next, wire::hold::none);
    if (!sent) return std::move(sent).error();
    return {};
  }
  /// Where a request that was sent is: its slot, until the ticket is another one's.
  struct sent_request {
    std::uint16_t slot = 0;
    std::uint64_t ticket = 0;
  };
  /// The same, for one that may have its place in the order of all before its worker may begin it.
  /// \returns also the slot to `open`, where `held` is `until_opened`
  result<sent_request> send_held(const request_type& type, const void* request,
                                 const request_options& options, std::uint8_t lane,
                                 completion&& done, no_room full, next_in_lane next,
                                 wire::hold held);
  /// What was stored before is visible to the request. Each request that was sent closed is opened
  /// once, also when it has been answered early; it is not opened when the device has gone.
  void open(std::uint16_t slot) noexcept { requests_->open(slot); }

  [[nodiscard]] bool would_wait() noexcept {
    if (config_.full != when_full::wait || requests_->has_free_slot()) return false;
    completions_->try_poll();  // as a sender does, before it waits
    return !requests_->has_free_slot();
  }

  /// Cancels it unless it has begun. From any thread: the device thread looks at the record, and
  /// says whether it was cancelled.
  future<bool> cancel(sent_request one);

  /// The lanes of a library, by the device's policy, and its name, which lives as long as they do.
  struct library_lanes {
    std::string_view library;
    std::shared_ptr<detail::lane_group> lanes;
  };
  /// The same for the same name.
  [[nodiscard]] library_lanes lanes_of(std::string_view library);
  /// `n` of its own.
  [[nodiscard]] library_lanes new_lanes_of(std::string_view library, int n);

  /// Mapped tensors use reserved lanes, so requests never queue behind them.
  static constexpr int mapping_lanes = 8;
  /// One for another tensor, if there is one; until `leave_mapping_lane`.
  [[nodiscard]] std::optional<std::uint8_t> take_mapping_lane() noexcept;
  void leave_mapping_lane(std::uint8_t lane) noexcept;
  /// Has it look at what the program has written where a request waits for that.
  void wake_worker() noexcept { requests_->wake_worker(); }

  [[nodiscard]] result<detail::buffer_ref> allocate(memory_space space, std::uint64_t bytes,
                                                    placement where = placement{});
  /// Returns when each request whose sender may have missed a flag that this thread has set
  /// (seq_cst) before, on a buffer, has its place in the order of all. Waits only for senders that
  /// are between their look at the flags and that, where they wait for nobody.
  void await_senders() const noexcept;
  /// Lets workers write a frozen buffer again.
  future<void> thaw(detail::buffer_ref buffer);
  [[nodiscard]] device_statistics statistics() const;
  /// Where its end is counted. Set once, before anybody else knows the device.
  void set_ends(std::shared_ptr<ending_devices> ends) { ends_ = std::move(ends); }
  /// Its place in the tree of actors. Set once, before anybody else knows the device.
  void set_guards(std::shared_ptr<device_guards> guards);
  [[nodiscard]] any_actor_ref guard() const { return guards_->current(); }
  [[nodiscard]] supervisor& watch() noexcept { return *supervisor_; }
  [[nodiscard]] reactor& completions() noexcept { return *completions_; }
  [[nodiscard]] memory_pool& memory() noexcept { return *device_memory_; }
  [[nodiscard]] memory_pool& host_memory() noexcept { return *host_memory_; }
  /// The request that left part of the tensor undefined, as far as what was sent before does not
  /// overwrite that part; empty if there is none. Precondition: the memory is of this device.
  [[nodiscard]] std::string tainted_by(const any_tensor& t);
  [[nodiscard]] copy_pool& copiers() noexcept { return *copiers_; }
  [[nodiscard]] const device_config& config() const noexcept { return config_; }
  [[nodiscard]] std::uint32_t mailbox_capacity() const noexcept { return requests_->capacity(); }
  [[nodiscard]] std::int32_t ordinal() const noexcept { return ordinal_; }
  [[nodiscard]] const device_description& description() const noexcept { return description_; }

 private:
  using deadline = std::optional<std::chrono::steady_clock::time_point>;
  class unsent_slot;

  /// Frees it: at once, or by its own thread where the last one who knows it is a continuation,
  /// which that thread runs, or waits for. Its destructor waits for the thread.
  static void let_go(device_core* unused) noexcept;

  device_core(std::int32_t ordinal, device_config config,
              std::shared_ptr<memory_pool> host_memory) noexcept;

  [[nodiscard]] std::shared_ptr<detail::lane_group> new_lanes(int n);
  [[nodiscard]] static std::shared_ptr<detail::lane_group> lanes_from(std::uint32_t first, int n);
  [[nodiscard]] std::optional<error> not_enabled(const request_type& type) const;
  template <class Take>
  [[nodiscard]] auto await_room(deadline until, Take&& take, no_room full)
      -> result<typename decltype(take())::value_type>;
  [[nodiscard]] result<void> fill(std::uint16_t slot, const request_type& type, const void* request,
                                  deadline until, no_room full, wire::hold held);
  [[nodiscard]] result<void> check(const request_type& type, const void* request,
                                   std::span<const std::byte> bytes);
  void abandon_slot(std::uint16_t slot) noexcept;
  template <class Use>
  void with_request(std::uint16_t slot, Use&& use) const;
  void complete_error(std::uint16_t slot, error& failure);
  [[nodiscard]] bool keeps_outputs(std::uint16_t slot, errc code) const;

  const std::int32_t ordinal_;
  const device_config config_;
  device_description description_;  // set once, before anybody else knows the device
  const std::shared_ptr<memory_pool> host_memory_;
  std::shared_ptr<memory_pool> device_memory_;
  std::unique_ptr<copy_pool> copiers_;
  std::shared_ptr<device_guards> guards_;
  std::shared_ptr<ending_devices> ends_;
  std::shared_ptr<mailbox> requests_;
  os::unique_fd blobs_;  // of workers, see `wire::blob_memory`
  reactor::handle completions_;
  std::atomic<std::uint64_t> refused_{0};  // a count: relaxed
  valid_requests valid_;

  std::mutex lanes_mutex_;                           // guards the next two
  std::shared_ptr<detail::lane_group> common_lane_;  // where all libraries are in one
  // Of the libraries that were asked for first, more than there are lanes.
  std::unordered_map<std::string, library_lanes> lanes_;
  std::atomic<std::uint32_t> next_lane_{0};  // relaxed: only spreads
  std::atomic<std::uint32_t> used_mapping_lanes_{
      0};  // a bit each; relaxed: nothing goes with a lane

  // Last: its thread uses everything above and ends first.
  std::unique_ptr<supervisor> supervisor_;
};

}  // namespace troupe
