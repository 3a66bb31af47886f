#pragma once

#include "memory/arena.hpp"
#include "memory/bound_sets.hpp"
#include "memory/slab_store.hpp"
#include "memory/taint_book.hpp"
#include "os/fork_count.hpp"
#include "os/shared_memory.hpp"
#include "tensor/buffer_owner.hpp"

#include <troupe/base/result.hpp>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

class device_endpoint;

using detail::buffer_frozen;
using detail::buffer_released;
using detail::buffer_settled;
using detail::buffer_table;
using detail::buffer_watched;
inline constexpr std::uint32_t frozen_flags = buffer_frozen | buffer_settled;

struct pool_config {
  memory_space space{};
  std::int32_t device = -1;  ///< ordinal for messages; -1 for the program's host memory
  std::uint64_t limit_bytes = 0;
  std::uint64_t granule_bytes = 0;  ///< every buffer starts and ends at a multiple
  /// The source of the memory; null for shared memory of the program.
  std::shared_ptr<device_source> source{};
  /// A worker in the program itself maps there: at the source's addresses. Otherwise the address
  /// range stays reserved in the program, so that its own mappings keep away from it.
  bool worker_in_program = false;
};

struct pool_statistics {
  std::uint64_t limit_bytes = 0;
  std::uint64_t used_bytes = 0;  ///< handed out
  std::uint64_t kept_bytes = 0;  ///< of the device, for the next buffer: not handed out
  std::uint64_t peak_bytes = 0;
  std::uint64_t buffers = 0;
};

/// Owns the memory of one space, which every process maps at the same addresses: one piece of
/// shared memory of `limit_bytes`, whose pages exist once touched, or slabs of a device. Allocation
/// is local: no message, and no system call unless a slab is added. The pool lives until the last
/// buffer is given back, so a tensor may outlive its device.
///
/// One mutex guards everything except `buffer::references`, `buffer::state` and `closed_`, which
/// the path of every request reads without it; see `detail::buffer` for the first two. `closed_` is
/// set with release, after the reason is available.
class memory_pool final : public detail::buffer_owner,
                          public std::enable_shared_from_this<memory_pool> {
 public:
  /// \errors `out_of_memory` if no addresses are free for it, with the greatest limit that fits;
  /// `invalid_argument` with the same if it could never fit; `system_error`
  [[nodiscard]] static result<std::shared_ptr<memory_pool>> create(const pool_config& config);
  /// The default limit of a pool of shared memory: half of the memory that the process can use, and
  /// so small a part of the addresses that the pools of many devices fit beside each other.
  [[nodiscard]] static std::uint64_t default_limit_bytes(std::uint64_t usable_bytes) noexcept;
  ~memory_pool();

  /// `separable`: its access rights can be changed alone, see `separable(b)`.
  /// \errors `out_of_memory` with the bytes requested and free, the largest piece and the limit;
  /// `device_stopped` once closed.
  [[nodiscard]] result<detail::buffer_ref> allocate(std::uint64_t bytes, std::uint64_t generation,
                                                    bool separable = false);

  /// The memory that workers map at `base()`; nothing if it is a device's.
  [[nodiscard]] const os::unique_fd& memory() const noexcept { return memory_; }
  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  /// The size of the address range: every offset of a buffer is below it.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return range_bytes_; }
  [[nodiscard]] bool on_device() const noexcept { return slabs_.has_value(); }
  /// True if the access rights of a buffer's memory can be changed without those of others.
  [[nodiscard]] bool separable(const detail::buffer& b) const noexcept {
    return !slabs_ || slabs_->owns_slab(b.offset);
  }

  /// The slab that a buffer is in. Precondition: `on_device()`.
  [[nodiscard]] result<slab_place> slab_of(const detail::buffer& b) const;
  /// Null if the memory is the program's.
  [[nodiscard]] const std::shared_ptr<device_source>& source() const noexcept {
    return config_.source;
  }

  /// Calls `listener` for each slab that is added or removed, before anything is allocated in it.
  /// Set before any buffer is handed out, and reset before its owner is destroyed.
  void on_slab(slab_store::listener listener) {
    const std::lock_guard lock(mutex_);
    slab_listener_ = std::move(listener);
  }
  /// Calls `watcher` for each slab that is removed, until `unwatch_slabs`: for devices that have
  /// mapped it, too. It is called with the pool's lock.
  using slab_watcher = std::function<void(const slab_place& removed)>;
  void watch_slabs(const void* who, slab_watcher watcher) {
    const std::lock_guard lock(mutex_);
    slab_watchers_.emplace_back(who, std::move(watcher));
  }
  void unwatch_slabs(const void* who) {
    const std::lock_guard lock(mutex_);
    std::erase_if(slab_watchers_, [who](const auto& entry) { return entry.first == who; });
  }

  /// How far buffers have reached, in steps of `reach_step_bytes`: the memory that an accelerator
  /// must have registered. Returns the present reach and calls `watcher` with each new one until
  /// `unwatch`.
  static constexpr std::uint64_t reach_step_bytes = std::uint64_t{32} << 20;
  using reach_watcher = std::function<void(std::uint64_t bytes)>;
  std::uint64_t watch_reach(const void* who, reach_watcher watcher);
  void unwatch_reach(const void* who);
  [[nodiscard]] memory_space space() const noexcept { return config_.space; }
  [[nodiscard]] std::int32_t device() const noexcept { return config_.device; }
  /// For messages: names the owner of this memory, when that of `wanted` was expected.
  [[nodiscard]] std::string belongs_to_another_than(const memory_pool& wanted) const;
  [[nodiscard]] pool_statistics statistics() const;
  /// The bytes of frozen buffers, and of those of which a part is undefined; looks at all buffers.
  struct restricted_bytes {
    std::uint64_t frozen = 0;
    std::uint64_t tainted = 0;
  };
  [[nodiscard]] restricted_bytes restricted() const;
  /// References to all buffers that are in use.
  [[nodiscard]] std::vector<detail::buffer_ref> live();
  /// Returns unused memory to the system.
  void trim();

  /// The device whose memory this is; nothing for the program's host memory, or after its end.
  void set_home(std::weak_ptr<device_endpoint> home) noexcept { home_ = std::move(home); }
  [[nodiscard]] std::shared_ptr<device_endpoint> home() const noexcept { return home_.lock(); }

  /// Called with a frozen buffer that is no longer in use: its memory is handed out again only once
  /// the reference is gone, so that no worker can still have it read-only. Set once, before any
  /// buffer is handed out.
  void on_frozen_unused(std::function<void(detail::buffer_ref)> thaw) { thaw_ = std::move(thaw); }

  /// Hands out no more, until `reopen`: its device has stopped. `why` is the cause of refusals.
  void close(const error& why);
  void reopen() noexcept { closed_.store(false, std::memory_order_release); }
  [[nodiscard]] bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }

  /// The undefined content of its buffers.
  [[nodiscard]] taint_book& taints() noexcept { return taints_; }
  [[nodiscard]] const taint_book& taints() const noexcept { return taints_; }

  /// The bound sets whose tables are in its buffers.
  [[nodiscard]] bound_sets& sets() noexcept { return sets_; }
  [[nodiscard]] const bound_sets& sets() const noexcept { return sets_; }

  void give_back(detail::buffer& unused) noexcept override;

 private:
  struct place {
    std::byte* base = nullptr;
    std::uint64_t bytes = 0;
    os::mapping range;                         // keeps the addresses reserved,
    std::unique_ptr<address_range> of_source;  // or this does
  };

  memory_pool(const pool_config& config, place where, os::unique_fd memory);
  [[nodiscard]] static error no_addresses(const pool_config& config);
  [[nodiscard]] static result<place> find_place(std::uint64_t bytes, const pool_config& config);
  [[nodiscard]] static result<place> find_device_place(const pool_config& config);
  [[nodiscard]] detail::buffer& free_block();
  [[nodiscard]] std::optional<arena::piece> take_piece(std::uint64_t bytes);
  [[nodiscard]] error no_memory(std::uint64_t bytes, std::optional<error> why = std::nullopt);
  [[nodiscard]] error closed_error() const;
  void extend_reach(std::uint64_t end);

  const pool_config config_;
  std::byte* const base_;
  const std::uint64_t range_bytes_;
  const os::mapping range_;
  const std::unique_ptr<address_range> range_of_source_;
  const os::unique_fd memory_;
  std::weak_ptr<device_endpoint> home_;           // set once, before any buffer is handed out
  std::function<void(detail::buffer_ref)> thaw_;  // likewise
  std::atomic<bool> closed_{false};
  // In a forked process the pool belongs to the parent.
  [[nodiscard]] bool is_copy() const noexcept { return made_in_ != os::fork_count(); }

  const std::uint32_t made_in_ = os::fork_count();
  taint_book taints_;  // these two have mutexes of their own
  bound_sets sets_;

  mutable std::mutex mutex_;
  arena arena_;                      // for shared memory
  std::optional<slab_store> slabs_;  // for a device's memory
  slab_store::listener slab_listener_;
  std::vector<std::pair<const void*, slab_watcher>> slab_watchers_;
  std::uint64_t reach_ = 0;
  std::vector<std::pair<const void*, reach_watcher>> reach_watchers_;
  std::deque<detail::buffer> buffers_;  // stable addresses, index = id
  std::vector<std::uint32_t> free_ids_;
  std::uint64_t peak_ = 0;
  std::shared_ptr<const error> why_closed_;
  std::shared_ptr<memory_pool> self_;  // while buffers exist
};

}  // namespace troupe
