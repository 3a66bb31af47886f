#pragma once

#include <troupe/base/result.hpp>
#include <troupe/core/future.hpp>
#include <troupe/tensor/tensor.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe {

class memory_pool;

/// Held by a request that uses a bound set, until it has ended.
struct set_use {
  std::uint64_t number = 0;  ///< changes whenever the content of the set may have changed
  promise<void> ended{detail::no_state};

  explicit set_use(std::uint64_t n) noexcept : number(n) {}
  set_use(const set_use&) = delete;
  set_use& operator=(const set_use&) = delete;
  ~set_use() { ended.set_value(); }
};

/// Frozen tensors of a device that requests use together, by naming one table.
struct bound_set {
  std::string name;
  std::shared_ptr<const memory_pool> of;  ///< the device's memory
  std::vector<std::pair<std::string, any_tensor>> tensors;
  // With the book's mutex:
  std::shared_ptr<set_use> use;
  std::uint64_t sound_at = 0;  ///< `changes` when all tensors were last valid; 0: never
};

/// The bound sets of a system, by the buffer of their table, which is host memory. The table's
/// buffer keeps its set, and so the tensors; each request in flight that reads it does, too.
///
/// A sender checks the tensors' flags only if some tensor was thawed or released since the last
/// check (`changes_`). The count is raised, seq_cst, after the flags have changed. So either a
/// sender sees that, or the thread that changed them waits for it (`record::on_its_way`).
class bound_sets {
 public:
  void add(detail::buffer& table, std::shared_ptr<bound_set> set);
  /// The buffer is given back. \returns objects to destroy without a lock
  [[nodiscard]] std::shared_ptr<const bound_set> forget(const detail::buffer& table) noexcept;

  /// Lets a request of the device with this memory read the set of a table.
  /// \errors `foreign_buffer`, `stale_buffer`, `tainted_buffer`; `invalid_argument` for a tensor
  /// that is not frozen
  [[nodiscard]] result<std::shared_ptr<const set_use>> use(const detail::buffer& table,
                                                           const memory_pool& by);

  /// A tensor's flags have changed, so that no set with it is usable any more.
  void note_change() noexcept { changes_.fetch_add(1, std::memory_order_seq_cst); }
  /// For each set with a tensor in that buffer: ready when all requests that use it have ended.
  [[nodiscard]] std::vector<future<void>> end_uses(const detail::buffer& of_tensor,
                                                   completion_driver* driver);

 private:
  [[nodiscard]] std::shared_ptr<set_use> new_use() { return std::make_shared<set_use>(++uses_); }

  std::atomic<std::uint64_t> changes_{1};
  std::mutex mutex_;
  std::unordered_map<std::uint32_t, std::shared_ptr<bound_set>> by_table_;  // by buffer
  std::uint64_t uses_ = 0;
};

}  // namespace troupe
