#pragma once

#include "memory/arena.hpp"
#include "memory/buffer_owner.hpp"
#include "os/shared_memory.hpp"

#include <troupe/core/result.hpp>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace troupe {

class device_core;

/// Bits of `detail::buffer::state`. All zero: usable for everything.
enum buffer_flag : std::uint32_t {
  buffer_tainted = 1,
  buffer_frozen = 2,
  buffer_released = 4,  ///< given up by `release()`
};

struct pool_config {
  memory_space space{};
  std::int32_t device = -1;  ///< ordinal for messages; -1 for the program's host memory
  std::uint64_t limit_bytes = 0;
  std::uint64_t granule_bytes = 0;  ///< every buffer starts and ends at a multiple
};

struct pool_statistics {
  std::uint64_t limit_bytes = 0;
  std::uint64_t used_bytes = 0;  ///< handed out
  std::uint64_t peak_bytes = 0;
  std::uint64_t buffers = 0;
};

/// Owns the memory of one space, as one piece of shared memory of `limit_bytes` that every process
/// maps at the same address; pages exist once touched. Allocation is local: no message and no
/// system call. It lives until the last buffer is given back, so a tensor may outlive its device.
///
/// One mutex guards everything but `buffer::references`, `buffer::state` and `closed_`, which are
/// read without it on the path of every request.
class memory_pool final : public detail::buffer_owner,
                          public std::enable_shared_from_this<memory_pool> {
 public:
  [[nodiscard]] static result<std::shared_ptr<memory_pool>> create(const pool_config& config);
  ~memory_pool();

  /// \errors `out_of_memory` with what was asked, what is free, the largest piece and the limit;
  /// `device_stopped` once closed.
  [[nodiscard]] result<detail::buffer_ref> allocate(std::uint64_t bytes, std::uint64_t generation);

  /// What workers map at `base()`.
  [[nodiscard]] const os::unique_fd& memory() const noexcept { return memory_; }
  [[nodiscard]] std::byte* base() const noexcept { return range_.address(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return config_.limit_bytes; }
  [[nodiscard]] memory_space space() const noexcept { return config_.space; }
  [[nodiscard]] std::int32_t device() const noexcept { return config_.device; }
  [[nodiscard]] pool_statistics statistics() const;
  /// Gives memory that no buffer uses back to the system.
  void trim();

  /// The device whose memory this is; nothing for the program's host memory, or when it is gone.
  void set_home(std::weak_ptr<device_core> home) noexcept { home_ = std::move(home); }
  [[nodiscard]] std::shared_ptr<device_core> home() const noexcept { return home_.lock(); }

  /// What to do with a frozen buffer that nobody uses any more: its memory is handed out again only
  /// once the reference is gone, so that no worker can still have it read-only. Set once, before
  /// any buffer is handed out.
  void on_frozen_unused(std::function<void(detail::buffer_ref)> thaw) { thaw_ = std::move(thaw); }

  /// From now on its buffers are stale.
  void close() noexcept { closed_.store(true, std::memory_order_release); }
  [[nodiscard]] bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }

  /// Marks a byte range of a buffer as undefined since `culprit`. Every range keeps its own
  /// culprit.
  void taint(detail::buffer& b, std::uint64_t begin, std::uint64_t end, const std::string& culprit);
  /// The first culprit's name if any byte of [begin, end) of the buffer is tainted, else nothing.
  [[nodiscard]] std::string tainted_by(const detail::buffer& b, std::uint64_t begin,
                                       std::uint64_t end) const;
  /// Forgets the taints that [begin, end) covers; one that it covers in part stays.
  void clear_taint(detail::buffer& b, std::uint64_t begin, std::uint64_t end);

  void give_back(detail::buffer& unused) noexcept override;

 private:
  struct taint_mark {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::string culprit;
  };

  memory_pool(const pool_config& config, os::mapping range, os::unique_fd memory);
  [[nodiscard]] detail::buffer& free_block();

  const pool_config config_;
  const os::mapping range_;
  const os::unique_fd memory_;
  std::weak_ptr<device_core> home_;               // set once, before any buffer is handed out
  std::function<void(detail::buffer_ref)> thaw_;  // likewise
  std::atomic<bool> closed_{false};

  mutable std::mutex mutex_;
  arena arena_;
  std::deque<detail::buffer> buffers_;  // stable addresses, index = id
  std::vector<std::uint32_t> free_ids_;
  std::unordered_map<std::uint32_t, std::vector<taint_mark>> taints_;  // by buffer
  std::uint64_t peak_ = 0;
  std::shared_ptr<memory_pool> self_;  // while buffers live
};

}  // namespace troupe
