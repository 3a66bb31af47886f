#pragma once

#include <troupe/base/unique_function.hpp>
#include <troupe/core/future.hpp>
#include <troupe/core/system.hpp>
#include <troupe/device/config.hpp>
#include <troupe/device/device_description.hpp>
#include <troupe/device/health.hpp>
#include <troupe/device/library_actor.hpp>
#include <troupe/tensor/host_tensor.hpp>
#include <troupe/tensor/tensor.hpp>

#include <sys/types.h>

#include <concepts>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <type_traits>
#include <vector>

namespace troupe {

/// Whether new memory is set to zero.
enum class initial : std::uint8_t { undefined, zero };

/// Where a new tensor lies.
enum class placement : std::uint8_t {
  /// Where it costs least: on a GPU tensors of less than 256 KiB share pieces of memory, whose
  /// rights are given as a whole, so that they cannot be frozen by themselves.
  shared,
  /// In memory of its own, which can be frozen. On a GPU that takes at least a granule (2 MiB).
  own,
};

class lease;

/// Elements of the program's own memory, one after the other: a vector, an array, a span. No
/// temporary that owns them, since a copy goes on after the call.
template <class R>
concept host_elements = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                        std::ranges::borrowed_range<R> && element<std::ranges::range_value_t<R>> &&
                        !std::convertible_to<R, const any_tensor&>;

/// A device: a stable address for requests, over workers that may be replaced at any moment.
/// Copies are the same device. Any thread may use it. It serves until it is stopped or gives up,
/// and again once it is restarted, at the longest until its system shuts down.
class TROUPE_EXPORT device {
 public:
  explicit device(std::shared_ptr<device_core> core) noexcept;
  ~device();
  device(const device&);
  device& operator=(const device&);

  // Memory.

  /// Allocates a packed row-major tensor on the device. Local: no message, no waiting.
  /// \errors `out_of_memory` with what was asked, free, the largest piece and the limit;
  /// `invalid_argument` for a negative extent; `size_overflow`; `device_stopped`
  template <element T>
  [[nodiscard]] result<troupe::tensor<T>> tensor(const shape& extents,
                                                 initial content = initial::undefined,
                                                 placement where = placement::shared) {
    auto view = allocate(dtype_of<T>, extents, content, where);
    if (!view) return std::move(view).error();
    return troupe::tensor<T>(*std::move(view));
  }
  /// The same for an element type known at run time.
  [[nodiscard]] result<any_tensor> allocate(dtype type, const shape& extents,
                                            initial content = initial::undefined,
                                            placement where = placement::shared);

  /// Allocates a packed row-major tensor in memory that program and workers share. Its content
  /// starts undefined. Local. \errors as `tensor`
  template <element T>
  [[nodiscard]] result<troupe::host_tensor<T>> host_tensor(const shape& extents) {
    auto view = allocate_host(dtype_of<T>, extents);
    if (!view) return std::move(view).error();
    return troupe::host_tensor<T>(*std::move(view));
  }
  [[nodiscard]] result<any_tensor> allocate_host(dtype type, const shape& extents);

  /// Copies `from` (a vector, an array, a span) to the tensor, in its row-major order; it must stay
  /// as it is until the future is ready. Returns at once: threads of the device carry the elements
  /// through shared memory, in pieces that overlap. Whatever is sent after it finds the whole
  /// tensor copied.
  /// \errors `shape_mismatch` with both lengths; `type_mismatch`; those of a request
  template <host_elements From>
  [[nodiscard]] future<void> copy(From&& from, const any_tensor& to) {
    const std::span elements(from);
    using T = std::remove_const_t<typename decltype(elements)::element_type>;
    return copy_in(dtype_of<T>, std::as_bytes(elements), to);
  }
  /// Copies the tensor's elements, in row-major order, to `to`, which is filled when the future is
  /// ready and must stay until then. Returns at once; what is sent after it may overwrite the
  /// tensor. On the CPU backend also of a device that has stopped. \errors as above
  template <host_elements To>
    requires(!std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<To>>>)
  [[nodiscard]] future<void> copy(const any_tensor& from, To&& to) {
    const std::span elements(to);
    return copy_out(from, dtype_of<typename decltype(elements)::element_type>,
                    std::as_writable_bytes(elements));
  }
  /// Copies between tensors of equal extents and type: on this device, in host memory, or of
  /// another device of the same system (then through host memory).
  /// \errors `shape_mismatch`, `type_mismatch`, `aliasing`; those of a request
  [[nodiscard]] future<void> copy(const any_tensor& from, const any_tensor& to);

  /// Makes the tensor's whole buffer read-only, in every worker to come as well: a request that
  /// would write it is refused, and a stray write ends its worker instead of changing it. Ready
  /// when earlier requests have written it and every worker has it so.
  /// \errors `unsupported` for host memory, and for a small tensor that was not allocated with
  /// `placement::own`; `foreign_buffer`; `out_of_memory` where a worker's system has no room for
  /// more ranges with rights of their own, and the tensor stays writable; those of a request
  [[nodiscard]] future<void> freeze(const any_tensor& t);
  /// Undoes `freeze`: ready when every worker may write the buffer again. \errors as `freeze`
  [[nodiscard]] future<void> thaw(const any_tensor& t);
  /// Makes the tensor the program's own for a while, with order in both directions; see `lease`
  /// (lease.hpp). `role`: what the program will do with it; `access::write` overwrites all of it,
  /// and so clears what is tainted. On a GPU the calling thread must have a CUDA context of that
  /// GPU (`cudaSetDevice(description().ordinal)`). The patience ends the wait for earlier requests,
  /// not those. A device lends 8 tensors at once.
  /// \errors `invalid_argument` without such a context; `deadline_exceeded`; `mailbox_full` beyond
  /// 8, with those that waited in vain and whose turn has not come yet; those of a request that
  /// uses the tensor so: `frozen_buffer`, `tainted_buffer`, …
  [[nodiscard]] future<lease> lend(const any_tensor& t, access role,
                                   std::optional<std::chrono::nanoseconds> patience = {});
  /// Gives the buffer up now: every view of it is stale from here on (`errc::stale_buffer`). Its
  /// memory is free once requests that use it have ended and its views are gone.
  void release(const any_tensor& t);
  /// Gives memory that no tensor uses back to the system.
  void trim();

  // Requests.

  /// The actor of a library, one for each name: "blas", "fft", or that of a plugin of yours.
  [[nodiscard]] library_actor library(std::string_view name) const;

  /// Sends a request to the actor of its library.
  template <request R>
  [[nodiscard]] future<reply_of<R>> ask(const R& r, const request_options& options = {}) const {
    return library(request_type_of<R>().library()).ask(r, options);
  }
  template <request R>
  result<void> tell(const R& r, const request_options& options = {}) const {
    return library(request_type_of<R>().library()).tell(r, options);
  }

  // The device itself. All of these answer at once, whatever it is doing.

  [[nodiscard]] std::int32_t ordinal() const noexcept;
  /// What serves it; its number there may differ from the device's own.
  [[nodiscard]] const device_description& description() const noexcept;
  /// The device's place in the tree of actors, to be watched like any other. It ends when the
  /// device stops; when the device has given up, it fails with the device's error first, so that
  /// its supervisor hears of it. A device that is restarted has another one.
  [[nodiscard]] any_actor_ref actor() const;
  [[nodiscard]] device_health health() const;
  /// 0 before the first worker was ready, then one more with each.
  [[nodiscard]] std::uint64_t generation() const noexcept;
  [[nodiscard]] device_statistics statistics() const;
  /// The requests that are in quarantine.
  [[nodiscard]] std::vector<quarantined_request> quarantine() const;
  /// Forgets all faults of a request: it may be sent again. False where it was not in quarantine
  /// any more.
  bool forgive(const quarantined_request& one);
  /// The same for all requests.
  void forgive_all();
  /// The process that serves it now; nothing while there is none and in `isolation::thread`.
  [[nodiscard]] std::optional<pid_t> worker_pid() const noexcept;

  /// Calls `watcher` soon with the current generation and then with each new one (some may be
  /// skipped), and with nothing whenever the device has stopped. Runs as a continuation does
  /// (`future::then`), and may wait: it holds up other watchers and continuations, never the
  /// device. Throws `failure` (`errc::invalid_argument`) where it is empty.
  void watch_generation(unique_function<void(std::optional<std::uint64_t>)> watcher);

  /// Waits until generation 1 is there. \errors why the device could not be brought up
  [[nodiscard]] result<void> wait_until_ready() const;

  /// Waits until every request sent so far has ended, or the patience.
  bool drain(std::chrono::nanoseconds patience);
  /// Refuses new requests, fails those in flight with `errc::device_stopped`, ends the workers.
  /// Returns when that is done and continuations of it have run, except those that wait; in a
  /// continuation of the device it returns before. Its tensors stay: see `restart`.
  void stop();
  /// Has a device that has stopped, or given up, serve again: the same tensors, frozen and tainted
  /// as they were, the next generation and a fresh budget of restarts. Its worker starts meanwhile
  /// (`wait_until_ready`). Nothing happens to one that runs.
  /// \errors `device_stopped` once its system has shut down, or another device has its number;
  /// `device_condemned`
  result<void> restart();

  [[nodiscard]] const std::shared_ptr<device_core>& core() const noexcept { return core_; }

 private:
  [[nodiscard]] future<void> copy_in(dtype type, std::span<const std::byte> from,
                                     const any_tensor& to);
  [[nodiscard]] future<void> copy_out(const any_tensor& from, dtype type, std::span<std::byte> to);

  std::shared_ptr<device_core> core_;
};

}  // namespace troupe
