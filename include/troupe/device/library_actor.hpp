#pragma once

#include <troupe/core/future.hpp>
#include <troupe/device/request_options.hpp>
#include <troupe/request/request.hpp>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

class device_core;

namespace detail {

/// The lanes of an actor, taken in turn by any thread. Relaxed: the number only spreads.
class lane_group {
 public:
  explicit lane_group(std::vector<std::uint8_t> lanes) noexcept : lanes_(std::move(lanes)) {}
  [[nodiscard]] std::uint8_t pick() noexcept {
    if (lanes_.size() == 1) return lanes_.front();
    return lanes_[next_.fetch_add(1, std::memory_order_relaxed) % lanes_.size()];
  }

 private:
  std::vector<std::uint8_t> lanes_;  // at least one
  std::atomic<std::uint32_t> next_{0};
};

/// Gets the answer of a request: the bytes of its reply, or why it failed (then `reply` is null).
using completion = unique_function<void(const std::byte* reply, error* failure)>;

TROUPE_EXPORT result<void> send(device_core& core, const request_type& type, const void* request,
                                const request_options& options, std::uint8_t lane, completion done);
[[nodiscard]] TROUPE_EXPORT completion_driver* driver_of(device_core& core) noexcept;

template <request R>
[[nodiscard]] future<troupe::reply_of<R>> ask(device_core& core, const R& r,
                                              const request_options& options, std::uint8_t lane) {
  promise<troupe::reply_of<R>> source(driver_of(core));
  future<troupe::reply_of<R>> answer = source.get_future();
  (void)send(core, request_type_of<R>(), &r, options, lane,
             [source = std::move(source)](const std::byte* reply, error* failure) mutable {
               if (failure != nullptr) return source.set_error(std::move(*failure));
               if constexpr (std::is_void_v<troupe::reply_of<R>>) {
                 source.set_value();
               } else {
                 troupe::reply_of<R> value;
                 std::memcpy(static_cast<void*>(&value), reply, sizeof(value));
                 source.set_value(std::move(value));
               }
             });
  return answer;
}

}  // namespace detail

/// The actor of one library on one device: takes that library's requests and runs them in one lane,
/// in the order sent. Copies are the same actor. Any thread may use it.
///
/// Requests of different lanes are ordered where one writes what another reads or writes, and run
/// freely otherwise; callers never synchronise.
class TROUPE_EXPORT library_actor {
 public:
  /// `library` must live as long as `lanes`.
  library_actor(std::shared_ptr<device_core> core, std::string_view library,
                std::shared_ptr<detail::lane_group> lanes);
  ~library_actor();
  library_actor(const library_actor&);
  library_actor& operator=(const library_actor&);

  /// Sends a request and answers its reply. Returns before the device is done; the request itself
  /// is read before, so it may be sent again or changed at once. One that is kept and sent often
  /// costs less than one that is made each time.
  /// \errors what the request's `validate` says; `stale_buffer`, `tainted_buffer`, `frozen_buffer`,
  /// `foreign_buffer` for its tensors; `mailbox_full`, `device_stopped`, `library_missing`,
  /// `deadline_exceeded`, `cancelled`; `device_fault`, `aborted`, `poisonous` after a fault;
  /// `library_error` and `numerical` from the library
  template <request R>
  [[nodiscard]] future<reply_of<R>> ask(const R& r, const request_options& options = {}) const {
    return detail::ask(*core_, r, options, lanes_->pick());
  }

  /// Sends a request that nobody waits for. Answers whether it was accepted; how it ends shows only
  /// in the device's statistics.
  template <request R>
  result<void> tell(const R& r, const request_options& options = {}) const {
    return detail::send(*core_, request_type_of<R>(), &r, options, lanes_->pick(), {});
  }

  /// The same library in a lane of its own, which runs beside the others.
  [[nodiscard]] library_actor on_new_lane() const { return on_new_lanes(1); }
  /// The same library in `n` lanes of its own, taken in turn by its requests. Below one is one.
  [[nodiscard]] library_actor on_new_lanes(int n) const;
  [[nodiscard]] std::string_view library() const noexcept { return library_; }

 private:
  std::shared_ptr<device_core> core_;
  std::string_view library_;  // of what owns the lanes
  std::shared_ptr<detail::lane_group> lanes_;
};

}  // namespace troupe
