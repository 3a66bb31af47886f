#pragma once

#include "device/supervision/incarnation.hpp"

#include <troupe/core/future.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace troupe {

/// Tells workers which memory there is, and which of it they may write. It also keeps the memory
/// that a worker starts with. Used by the device thread, except the number of a change.
class worker_memory {
 public:
  using clock = std::chrono::steady_clock;

  /// A pool that is not on the device is one piece that always exists.
  worker_memory(const memory_pool& device_memory, const memory_pool& host_memory);

  /// Everything that workers map, and what they may only read. Their addresses do not change.
  [[nodiscard]] const memory_picture& picture() const noexcept { return picture_; }
  [[nodiscard]] const std::vector<frozen_range>& frozen() const noexcept { return frozen_; }

  /// How much host memory workers register at least, set before the first one starts.
  void set_host_reach(std::uint64_t bytes) noexcept { picture_.host_reach = bytes; }
  /// The number of the last change of a pool. A worker makes changes in order, so a request may run
  /// once the last changes of the pools that it names have been made. The device's own memory and
  /// host memory have one number, because any request may name both. Any thread.
  [[nodiscard]] std::uint64_t version(wire::pool_number of) const noexcept {
    return versions_[row_of(of)].load(std::memory_order_acquire);
  }
  /// The number of the last change of any pool. Any thread.
  [[nodiscard]] std::uint64_t last_change() const noexcept {
    return changes_.load(std::memory_order_acquire);
  }
  /// Numbers the next change, on any thread that allocates. Precondition: it holds the lock under
  /// which it queues the change for the device thread, so that workers make changes in order.
  std::uint64_t count_change(wire::pool_number of) noexcept;
  /// Makes a change that was counted.
  void change(const memory_change& what, worker_pair workers);

  /// Changes the access rights of a buffer's memory in every worker, present and future; answers
  /// once all of them have done so.
  void protect(std::shared_ptr<promise<void>> done, detail::buffer_ref buffer, bool read_only,
               worker_pair workers);
  /// Handles the workers' answers about access rights.
  /// \returns true if one of them has failed over that, which must be reported
  [[nodiscard]] bool finish_protects(worker_pair workers, clock::time_point now);
  /// A standby that is silent until then is not waited for: it must answer before it takes over.
  [[nodiscard]] static clock::time_point standby_is_left_out(worker_pair workers);
  /// There are no workers any more.
  void fail_protects(const error& why);

 private:
  struct pending_protect {
    std::shared_ptr<promise<void>> done;
    detail::buffer_ref buffer;
    bool read_only = false;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> awaited{};  // worker, acknowledgements
    std::optional<error> refused{};
  };

  void have_protected(pending_protect& change, bool read_only, worker_pair workers);
  [[nodiscard]] bool on_refused_protect(incarnation& by, incarnation::refused_protect refused,
                                        worker_pair workers);
  [[nodiscard]] bool changes_since(std::size_t index, const detail::buffer& of) const;

  static constexpr std::size_t row_of(wire::pool_number pool) noexcept {
    return pool == wire::host_pool ? wire::device_pool : pool;
  }

  // Release: the change is queued, or about to be.
  std::atomic<std::uint64_t> changes_{0};
  // Likewise, by `row_of`.
  std::array<std::atomic<std::uint64_t>, wire::pool_count> versions_{};
  memory_picture picture_;
  std::vector<frozen_range> frozen_;
  std::vector<pending_protect> protects_;
};

}  // namespace troupe
