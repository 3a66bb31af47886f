#pragma once

#include <troupe/core/future.hpp>
#include <troupe/device/computed.hpp>
#include <troupe/device/request_options.hpp>
#include <troupe/request/any_request.hpp>
#include <troupe/request/request.hpp>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

class device_endpoint;

namespace detail {

/// The lanes of an actor, used in turn by any thread. Relaxed: the counter only spreads the load.
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

/// Receives a request's outcome: its reply, or its error (then `reply` is null). A plain reply
/// comes as its bytes, a described one as an `any_value`, which may be moved from.
using completion = unique_function<void(std::byte* reply, error* failure)>;

TROUPE_EXPORT result<void> send(device_endpoint& to, const request_type& type, const void* request,
                                const request_options& options, std::uint8_t lane, completion done);
[[nodiscard]] TROUPE_EXPORT completion_driver* driver_of(device_endpoint& of) noexcept;
/// The next lane of the request's library.
[[nodiscard]] TROUPE_EXPORT std::uint8_t lane_for(device_endpoint& to, const request_type& type);

/// Allocates the outputs that `request` leaves out, and the optional ones at the offsets `also`,
/// then sends it. If it is refused, its outputs are tainted.
TROUPE_EXPORT void compute(const std::shared_ptr<device_endpoint>& core, const request_type& type,
                           void* request, std::span<const std::size_t> also,
                           const request_options& options, std::uint8_t lane, completion done);

/// A `completion` that answers the promise.
template <class Reply>
[[nodiscard]] auto answer_to(promise<Reply>&& source) {
  return [source = std::move(source)](std::byte* reply, error* failure) mutable {
    if (failure != nullptr) return source.set_error(std::move(*failure));
    if constexpr (std::is_void_v<Reply>) {
      source.set_value();
    } else if constexpr (described<Reply>) {
      source.set_value(std::move(reinterpret_cast<any_value*>(reply)->as<Reply>()));
    } else {
      Reply value;
      std::memcpy(static_cast<void*>(&value), reply, sizeof(value));
      source.set_value(std::move(value));
    }
  };
}

template <request R>
[[nodiscard]] future<troupe::reply_of<R>> ask(device_endpoint& to, const R& r,
                                              const request_options& options, std::uint8_t lane) {
  promise<troupe::reply_of<R>> source(driver_of(to));
  future<troupe::reply_of<R>> answer = source.get_future();
  (void)send(to, request_type_of<R>(), &r, options, lane, answer_to(std::move(source)));
  return answer;
}

}  // namespace detail

/// A request that was sent, to be cancelled later. Unlike a stop token in `request_options` it
/// costs nothing until then.
class TROUPE_EXPORT request_handle {
 public:
  request_handle() = default;

  /// Cancels the request if it has not begun, as `request_options::stop` does. Thread-safe; nothing
  /// happens to a request that has ended, or was refused.
  void cancel() const;
  /// The same, and waits until the device thread has decided. False: it had begun or ended, or was
  /// refused. Not to be called by a continuation.
  [[nodiscard]] bool cancel_and_wait() const;

 private:
  friend class library_actor;
  std::weak_ptr<device_endpoint> core_;
  std::uint16_t slot_ = 0;
  std::uint64_t ticket_ = 0;
};

/// The actor of one library on one device. It runs that library's requests in one lane, in the
/// order sent. Copies refer to the same actor. Thread-safe.
///
/// Requests of different lanes run in the order sent if one writes what the other reads or writes,
/// and concurrently otherwise. Callers never synchronise.
class TROUPE_EXPORT library_actor {
 public:
  /// `library` must outlive `lanes`.
  library_actor(std::shared_ptr<device_endpoint> core, std::string_view library,
                std::shared_ptr<detail::lane_group> lanes);
  ~library_actor();
  library_actor(const library_actor&);
  library_actor& operator=(const library_actor&);

  /// Sends a request and returns its future reply. Returns before the device is done. The request
  /// object is read during the call, so it may be changed or sent again at once; reusing one object
  /// is cheaper than making a new one for each call.
  /// \errors those of the request's `validate`; `stale_buffer`, `tainted_buffer`, `frozen_buffer`,
  /// `foreign_buffer` for its tensors; `mailbox_full`, `device_stopped`, `library_missing`,
  /// `deadline_exceeded`, `cancelled`; `device_fault`, `aborted`, `poisonous` after a fault;
  /// `library_error` and `numerical` from the library
  template <request R>
  [[nodiscard]] future<reply_of<R>> ask(const R& r, const request_options& options = {}) const {
    return detail::ask(*core_, r, options, lanes_->pick());
  }

  /// Allocates the outputs that the request leaves out, sends it, and returns it with its outputs
  /// and its future. Extents and types follow from its operands; `also` names optional outputs that
  /// are wanted, as in `{&layer_norm::mean}`. Returns before the device is done. Outputs that are
  /// given are used as they are.
  /// \errors in the future: those of `ask`; `invalid_argument` for an output whose type or extents
  /// do not follow from the operands, as where they depend on data: it must be given;
  /// `out_of_memory`
  template <request R>
  computed<R> compute(R r, std::initializer_list<any_tensor R::*> also,
                      const request_options& options = {}) const {
    std::vector<std::size_t> offsets;
    for (const auto m : also)
      offsets.push_back(static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&(r.*m)) -
                                                 reinterpret_cast<const std::byte*>(&r)));
    promise<reply_of<R>> source(detail::driver_of(*core_));
    future<reply_of<R>> answer = source.get_future();
    detail::compute(core_, request_type_of<R>(), &r, offsets, options, lanes_->pick(),
                    detail::answer_to(std::move(source)));
    return computed<R>(std::move(r), std::move(answer));
  }
  template <request R>
  computed<R> compute(R r, const request_options& options = {}) const {
    return compute<R>(std::move(r), std::initializer_list<any_tensor R::*>{}, options);
  }

  /// Sends a request without a reply. Returns whether it was accepted; its outcome appears only in
  /// the device's statistics.
  template <request R>
  result<void> tell(const R& r, const request_options& options = {}) const {
    return detail::send(*core_, request_type_of<R>(), &r, options, lanes_->pick(), {});
  }

  /// The same for a request whose type is known at run time only.
  [[nodiscard]] future<any_reply> ask(const any_request& r,
                                      const request_options& options = {}) const;
  result<void> tell(const any_request& r, const request_options& options = {}) const;
  /// Also sets `sent`, by which the request can be cancelled; to nothing if it is refused.
  [[nodiscard]] future<any_reply> ask(const any_request& r, const request_options& options,
                                      request_handle& sent) const;

  /// True if a request that is sent now would wait for room in the mailbox (`when_full::wait`).
  [[nodiscard]] bool would_wait() const noexcept;

  /// The same library in a lane of its own, which runs concurrently with the others.
  [[nodiscard]] library_actor on_new_lane() const { return on_new_lanes(1); }
  /// The same library with `n` lanes of its own, which its requests use in turn. `n < 1` means 1.
  [[nodiscard]] library_actor on_new_lanes(int n) const;
  [[nodiscard]] std::string_view library() const noexcept { return library_; }

 private:
  std::shared_ptr<device_endpoint> core_;
  std::string_view library_;  // owned by the owner of the lanes
  std::shared_ptr<detail::lane_group> lanes_;
};

}  // namespace troupe
