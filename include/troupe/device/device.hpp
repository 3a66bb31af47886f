#pragma once

#include <troupe/base/unique_function.hpp>
#include <troupe/core/future.hpp>
#include <troupe/core/system.hpp>
#include <troupe/device/config.hpp>
#include <troupe/device/device_description.hpp>
#include <troupe/device/events.hpp>
#include <troupe/device/health.hpp>
#include <troupe/device/library_actor.hpp>
#include <troupe/device/renew_options.hpp>
#include <troupe/tensor/host_tensor.hpp>
#include <troupe/tensor/placement.hpp>
#include <troupe/tensor/tensor.hpp>

#include <sys/types.h>

#include <concepts>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <type_traits>
#include <vector>

namespace troupe {

class mapped_tensor;
struct device_telemetry;

/// Contiguous elements in the program's memory: a vector, an array, a span. An owning temporary is
/// rejected, because the copy continues after the call returns.
template <class R>
concept host_elements = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                        std::ranges::borrowed_range<R> && element<std::ranges::range_value_t<R>> &&
                        !std::convertible_to<R, const any_tensor&>;

/// A device: a stable address for requests, served by workers that may be replaced at any time.
/// Copies refer to the same device. Thread-safe. A device serves requests until it is stopped or
/// gives up, and again after `restart`, until its system shuts down at the latest.
class TROUPE_EXPORT device {
 public:
  explicit device(std::shared_ptr<device_endpoint> core) noexcept;
  ~device();
  device(const device&);
  device& operator=(const device&);

  // Memory.

  /// Allocates a packed row-major tensor on the device. Local: sends no message and does not wait.
  /// \errors `out_of_memory`, with the requested size, the free memory, the largest free piece and
  /// the limit; `invalid_argument` for a negative extent; `size_overflow`; `device_stopped`
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

  /// Allocates a packed row-major tensor in memory shared by the program and the workers. Its
  /// content is initially undefined. Local. \errors as `tensor`
  template <element T>
  [[nodiscard]] result<troupe::host_tensor<T>> host_tensor(const shape& extents) {
    auto view = allocate_host(dtype_of<T>, extents);
    if (!view) return std::move(view).error();
    return troupe::host_tensor<T>(*std::move(view));
  }
  [[nodiscard]] result<any_tensor> allocate_host(dtype type, const shape& extents);

  /// Copies `from` (a vector, an array, a span) to the tensor, in row-major order. `from` must not
  /// change until the future is ready. Returns at once: the device's threads copy the elements
  /// through shared memory, in overlapping chunks. Requests sent after this call see the complete
  /// tensor.
  /// \errors `shape_mismatch`, with both lengths; `type_mismatch`; those of a request
  template <host_elements From>
  [[nodiscard]] future<void> copy(From&& from, const any_tensor& to) {
    const std::span elements(from);
    using T = std::remove_const_t<typename decltype(elements)::element_type>;
    return copy_in(dtype_of<T>, std::as_bytes(elements), to);
  }
  /// Copies the tensor's elements to `to`, in row-major order. `to` must stay valid until the
  /// future is ready; then it holds the elements. Returns at once; requests sent after this call
  /// may overwrite the tensor. On the CPU backend this also works on a stopped device. \errors as
  /// above
  template <host_elements To>
    requires(!std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<To>>>)
  [[nodiscard]] future<void> copy(const any_tensor& from, To&& to) {
    const std::span elements(to);
    return copy_out(from, dtype_of<typename decltype(elements)::element_type>,
                    std::as_writable_bytes(elements));
  }
  /// Copies between tensors of equal extents and type. Each may be on this device, in host memory,
  /// or on another device of the same system, which is read where it is if that can be mapped.
  /// \errors `shape_mismatch`, `type_mismatch`, `aliasing`; those of a request
  [[nodiscard]] future<void> copy(const any_tensor& from, const any_tensor& to);
  /// The same from and to elements in the program's memory whose type is known at run time only:
  /// their bytes.
  [[nodiscard]] future<void> copy_in(dtype type, std::span<const std::byte> from,
                                     const any_tensor& to);
  [[nodiscard]] future<void> copy_out(const any_tensor& from, dtype type, std::span<std::byte> to);

  /// Makes the tensor's whole buffer read-only, in present and future workers. A request that would
  /// write it is refused; a stray write ends its worker and does not change the buffer. The future
  /// is ready when earlier requests have finished writing and every worker maps it read-only.
  /// \errors `unsupported` for host memory, and for a small tensor allocated without
  /// `placement::own`; `foreign_buffer`; `out_of_memory` if the operating system refuses a worker
  /// another mapping with separate access rights (the tensor then stays writable); those of a
  /// request
  [[nodiscard]] future<void> freeze(const any_tensor& t);
  /// Undoes `freeze`; the future is ready when every worker may write the buffer and no request in
  /// flight uses it through a bound set (`bind_tensors`). \errors as `freeze`
  [[nodiscard]] future<void> thaw(const any_tensor& t);
  /// Maps the tensor for use by the program, ordered against earlier and later requests; see
  /// `mapped_tensor` (mapped_tensor.hpp). `role` is what the program will do with it:
  /// `access::write` means that it overwrites every element, and so clears a taint. On a GPU the
  /// calling thread must have a CUDA context of that GPU (`cudaSetDevice(description().ordinal)`).
  /// The timeout bounds the wait for earlier requests; it does not end them. A device maps at most
  /// 8 tensors at once.
  /// \errors `invalid_argument` without such a context; `deadline_exceeded`; `mailbox_full` beyond
  /// 8 mappings, including timed-out ones whose earlier requests have not ended yet; those of a
  /// request that uses the tensor in the same role: `frozen_buffer`, `tainted_buffer`, …
  [[nodiscard]] future<mapped_tensor> mapped(const any_tensor& t, access role,
                                             std::optional<std::chrono::nanoseconds> timeout = {});
  /// Invalidates every view of the buffer immediately (`errc::stale_buffer`). The memory is freed
  /// once the requests that use it have ended and its views are destroyed.
  void release(const any_tensor& t);
  /// The request that was lost or failed while it wrote to the tensor and so left part of it
  /// undefined, unless a request sent since then overwrites that part; empty if the tensor is not
  /// tainted, or not of this device.
  [[nodiscard]] std::string tainted_by(const any_tensor& t) const;
  /// Returns memory that no tensor uses to the operating system.
  void trim();

  // Requests.

  /// The actor of the library with this name: "blas", "fft", or one from a plugin.
  [[nodiscard]] library_actor library(std::string_view name) const;

  /// Sends a request to the actor of its library.
  template <request R>
  [[nodiscard]] future<reply_of<R>> ask(const R& r, const request_options& options = {}) const {
    return detail::ask(*core_, r, options, detail::lane_for(*core_, request_type_of<R>()));
  }
  /// Allocates the outputs that the request leaves out and sends it, see `library_actor::compute`:
  ///
  ///     auto c = gpu.compute(blas::gemm{.a = a, .b = b});
  ///     auto y = gpu.compute(elementwise::softmax{.x = c->c});  // c->c has its memory already
  template <request R>
  computed<R> compute(R r, const request_options& options = {}) const {
    return compute<R>(std::move(r), std::initializer_list<any_tensor R::*>{}, options);
  }
  /// The same, and allocates these optional outputs, too: `{&layer_norm::mean}`.
  template <request R>
  computed<R> compute(R r, std::initializer_list<any_tensor R::*> also,
                      const request_options& options = {}) const {
    const std::uint8_t lane = detail::lane_for(*core_, request_type_of<R>());
    return detail::compute(core_, std::move(r), also, options, lane);
  }
  template <request R>
  result<void> tell(const R& r, const request_options& options = {}) const {
    const request_type& type = request_type_of<R>();
    return detail::send(*core_, type, &r, options, detail::lane_for(*core_, type), {});
  }

  /// The same for a request whose type is known at run time only.
  [[nodiscard]] future<any_reply> ask(const any_request& r,
                                      const request_options& options = {}) const;
  result<void> tell(const any_request& r, const request_options& options = {}) const;

  /// Records requests (troupe/graph.hpp); sends those of a graph as one, see `request_graph`.
  [[nodiscard]] class graph_recorder record(std::string_view name) const;
  [[nodiscard]] future<class graph_replies> run(const class request_graph& graph,
                                                const request_options& options = {}) const;
  [[nodiscard]] future<graph_replies> run(const request_graph& graph,
                                          const std::vector<struct graph_argument>& arguments,
                                          const request_options& options = {}) const;

  // State and lifetime. All queries answer at once, whatever the device is doing.

  [[nodiscard]] std::int32_t ordinal() const noexcept;
  /// The hardware that serves the device; its ordinal may differ from the device's own.
  [[nodiscard]] const device_description& description() const noexcept;
  /// The device's actor in the actor tree, which can be watched like any other. It ends when the
  /// device stops. If the device gave up, it first fails with the device's error, so that its
  /// supervisor is informed. A restarted device has a new actor.
  [[nodiscard]] any_actor_ref actor() const;
  [[nodiscard]] device_health health() const;
  /// 0 before the first worker is ready, then incremented with each worker.
  [[nodiscard]] std::uint64_t generation() const noexcept;
  [[nodiscard]] device_statistics statistics() const;
  /// All facts about it at this moment, as in `system::snapshot` (troupe/telemetry/snapshot.hpp).
  [[nodiscard]] device_telemetry snapshot() const;
  /// The last 1024 events with greater numbers than `after`, the oldest first.
  [[nodiscard]] std::vector<device_event> events(std::uint64_t after = 0) const;
  /// The requests in quarantine.
  [[nodiscard]] std::vector<quarantined_request> quarantine() const;
  /// Clears all faults of a request, so that it may be sent again. False if it was no longer in
  /// quarantine.
  bool forgive(const quarantined_request& one);
  /// Clears the faults of all requests.
  void forgive_all();
  /// The process that serves the device now; empty if there is none, and in `isolation::thread`.
  [[nodiscard]] std::optional<pid_t> worker_pid() const noexcept;

  /// Calls `watcher` asynchronously with the current generation, then with each new one (some may
  /// be skipped), and with an empty optional whenever the device has stopped. `watcher` runs like a
  /// continuation (`future::then`). It may block: this delays other watchers and continuations, but
  /// never the device. Throws `failure` (`errc::invalid_argument`) if `watcher` is empty.
  void watch_generation(unique_function<void(std::optional<std::uint64_t>)> watcher);

  /// Waits until the first worker is ready. \errors the reason why the device could not start
  [[nodiscard]] result<void> wait_until_ready() const;

  /// Waits until no request is in flight, or the timeout expires. False if the timeout expired.
  bool drain(std::chrono::nanoseconds timeout);
  /// Refuses new requests, fails those in flight with `errc::device_stopped`, and ends the workers.
  /// Returns when this is done and the requests' continuations have run, except those that block.
  /// Called from a continuation of the device, it returns earlier. The tensors are kept.
  void stop();
  /// Brings a device that stopped or gave up back into service. Its tensors are kept, frozen and
  /// tainted as they were; it gets the next generation and a full restart budget. The worker starts
  /// in the background (`wait_until_ready`). Has no effect on a running device.
  /// \errors `device_stopped` if its system has shut down or another device has taken its number;
  /// `device_condemned`
  result<void> restart();
  /// Replaces the worker while requests are sent: those that run end, the next worker gets the
  /// others, and none fails or runs twice. The future is ready when the next worker serves, which
  /// may be after a loss.
  /// \errors `unsupported` in `isolation::thread`; `deadline_exceeded` if requests run for longer
  /// than `how.drain`; `device_stopped`; the reason why no other worker could be started. The
  /// worker in service goes on then.
  [[nodiscard]] future<void> renew(const renew_options& how = {});

  [[nodiscard]] const std::shared_ptr<device_endpoint>& core() const noexcept { return core_; }

 private:
  std::shared_ptr<device_endpoint> core_;
};

}  // namespace troupe
