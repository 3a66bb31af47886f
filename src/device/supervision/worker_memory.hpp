#pragma once

#include "device/supervision/incarnation.hpp"

#include <troupe/core/future.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace troupe {

/// What workers are told of memory: which there is, and what they may write. What a worker is
/// started with is kept here, too. Used by the device thread, but for the number of a change.
class worker_memory {
 public:
  using clock = std::chrono::steady_clock;

  /// A pool that is not on the device is one piece, and always there.
  worker_memory(const memory_pool& device_memory, const memory_pool& host_memory);

  /// Everything that workers map, and what they may only read. Where they are does not change.
  [[nodiscard]] const memory_picture& picture() const noexcept { return picture_; }
  [[nodiscard]] const std::vector<frozen_range>& frozen() const noexcept { return frozen_; }

  /// How much host memory workers register at least, before the first one starts.
  void set_host_reach(std::uint64_t bytes) noexcept { picture_.host_reach = bytes; }
  /// Counts the changes so far. Any thread.
  [[nodiscard]] std::uint64_t version() const noexcept {
    return version_.load(std::memory_order_acquire);
  }
  /// Counts one more, from whatever thread allocates. Precondition: it holds the lock under which
  /// it queues the change for the device thread, so that workers count in order.
  std::uint64_t count_change() noexcept;
  /// Makes a change that was counted.
  void change(const memory_change& what, worker_pair workers);

  /// Changes the rights of a buffer's memory in every worker, present and future; answers once all
  /// of them have done so.
  void protect(std::shared_ptr<promise<void>> done, detail::buffer_ref buffer, bool read_only,
               worker_pair workers);
  /// Takes up what workers have said of the rights that they were to change.
  /// \returns true where one of them has failed over that, which is to be heard of
  [[nodiscard]] bool finish_protects(worker_pair workers, clock::time_point now);
  /// A standby that keeps silent until then is not waited for: it has to answer before it takes
  /// over.
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

  std::atomic<std::uint64_t> version_{0};  // release: the change is queued, or about to be
  memory_picture picture_;
  std::vector<frozen_range> frozen_;
  std::vector<pending_protect> protects_;
};

}  // namespace troupe
