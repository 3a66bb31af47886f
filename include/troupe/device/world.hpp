#pragma once

#include <troupe/base/export.hpp>
#include <troupe/core/future.hpp>
#include <troupe/device/device.hpp>
#include <troupe/device/world_config.hpp>
#include <troupe/request/any_request.hpp>
#include <troupe/request/world_part.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

class world_core;

/// One tensor of each device of a world, in rank order.
template <element T>
class per_rank {
 public:
  per_rank() = default;
  explicit per_rank(std::vector<tensor<T>> of) noexcept : of_(std::move(of)) {}

  [[nodiscard]] const tensor<T>& operator[](std::size_t rank) const noexcept { return of_[rank]; }
  [[nodiscard]] std::size_t size() const noexcept { return of_.size(); }
  [[nodiscard]] auto begin() const noexcept { return of_.begin(); }
  [[nodiscard]] auto end() const noexcept { return of_.end(); }
  /// As a request takes it.
  operator std::vector<any_tensor>() const {  // NOLINT(google-explicit-constructor)
    return {of_.begin(), of_.end()};
  }

 private:
  std::vector<tensor<T>> of_;
};

/// A request for several devices: it has a `world_part`.
template <class R>
concept world_request = request<R> && requires(R& r) {
  { r.part } -> std::same_as<world_part&>;
};

/// Several devices as one: a device is a rank, by its place in the list. A request for a world has
/// a part on each device, published on all of them or on none, so no rank can be left waiting for
/// one that was never asked. Requests of all worlds of a system have one order. With requests of a
/// single device they are ordered as usual, by the tensors that they use on it.
///
/// A rank whose worker is lost runs its part again in the next worker; meanwhile the others wait. A
/// request fails on all ranks only if a part fails for good, and the world goes on with the next.
///
/// Copies refer to the same world. Thread-safe.
class TROUPE_EXPORT world {
 public:
  explicit world(std::shared_ptr<world_core> core) noexcept;
  ~world();
  world(const world&);
  world& operator=(const world&);

  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] device rank(std::size_t rank) const;
  /// A world of some of these devices, in this order. Throws `failure` as `system::world`.
  [[nodiscard]] world subset(std::span<const std::size_t> ranks) const;
  [[nodiscard]] world subset(std::initializer_list<std::size_t> ranks) const {
    return subset(std::span(ranks.begin(), ranks.size()));
  }
  /// A world of the other devices.
  [[nodiscard]] world without(const device& one) const;

  /// Allocates a packed tensor on each device. \errors those of `device::tensor`
  template <element T>
  [[nodiscard]] result<per_rank<T>> tensors(const shape& extents) const {
    auto all = allocate(dtype_of<T>, extents);
    if (!all) return std::move(all).error();
    std::vector<tensor<T>> typed;
    for (any_tensor& one : *all)
      typed.emplace_back(std::move(one));
    return per_rank<T>(std::move(typed));
  }
  /// The same for an element type known at run time.
  [[nodiscard]] result<std::vector<any_tensor>> allocate(dtype type, const shape& extents) const;

  /// The list that has an item for each of these tensors, which stands at the rank of its device;
  /// the other ranks have none. For requests in which a tensor of one rank is enough
  /// (`collective::exchange`, the root's). A tensor of another device is refused when it is sent.
  [[nodiscard]] std::vector<any_tensor> by_rank(std::initializer_list<any_tensor> some) const {
    return by_rank(std::span(some.begin(), some.size()));
  }
  [[nodiscard]] std::vector<any_tensor> by_rank(std::span<const any_tensor> some) const;

  /// Sends a request to all devices. Returns before they are done; the future is ready when it has
  /// ended on all ranks.
  /// \errors those of each part, as of `library_actor::ask`; `foreign_buffer` for a tensor that is
  /// not on the device of its rank; `invalid_argument` for a deadline, a stop token or a run limit,
  /// which a request for several devices cannot have; `aborted` with the failure of the rank that
  /// failed as its cause. Then each rank's outputs are right or tainted.
  template <world_request R>
  [[nodiscard]] future<void> ask(R r, const request_options& options = {}) const {
    return ask(request_type_of<R>(), &r, r.part, options);
  }
  /// Sends a request without waiting for its outcome. \errors those found before it is sent
  template <world_request R>
  result<void> tell(R r, const request_options& options = {}) const {
    return tell(request_type_of<R>(), &r, r.part, options);
  }
  /// The same for a request whose type is known at run time only. \errors also `unsupported` for a
  /// request for one device
  [[nodiscard]] future<void> ask(any_request r, const request_options& options = {}) const;

  /// Allocates the lists of results that the request leaves out and that follow from the rest, a
  /// tensor on each device. \errors `out_of_memory`; `unsupported` as `ask`
  [[nodiscard]] result<void> allocate_outputs(any_request& r) const;

  [[nodiscard]] world_health health() const;

 private:
  [[nodiscard]] future<void> ask(const request_type& type, void* request, world_part& part,
                                 const request_options& options) const;
  result<void> tell(const request_type& type, void* request, world_part& part,
                    const request_options& options) const;

  std::shared_ptr<world_core> core_;
};

}  // namespace troupe
