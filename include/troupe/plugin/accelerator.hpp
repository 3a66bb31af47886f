#pragma once

#include <troupe/base/result.hpp>
#include <troupe/plugin/executor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

/// What a backend brings whose calls return before the work is done: a GPU's. A plugin that exports
/// `troupe_backend_accelerator` is run by queues; one that does not, by threads.
namespace troupe {

/// One queue (a CUDA stream): what is enqueued runs later, in order. Executors get it as their
/// `lane_context`, whose workspace is then memory of the accelerator that stays theirs until what
/// they have enqueued has run.
///
/// A failure with `errc::device_fault` from any function means that the context is lost: nothing
/// that was enqueued may be taken for done, and the worker must be replaced.
class accelerator_lane : public lane_context {
 public:
  virtual ~accelerator_lane() = default;

  /// What is enqueued from here on waits for all that `other` holds now.
  [[nodiscard]] virtual result<void> wait_for(accelerator_lane& other) = 0;
  /// Stores `value` at `where`, in shared host memory, once all before it has run and is visible to
  /// the host. After a fault it never does.
  [[nodiscard]] virtual result<void> mark(std::uint64_t* where, std::uint64_t value) = 0;
  /// The same, but what is enqueued later may begin before the value is stored, where that costs a
  /// busy queue less. Whatever `mark` stores is stored after it, and what follows that `mark` runs
  /// after both.
  [[nodiscard]] virtual result<void> mark_aside(std::uint64_t* where, std::uint64_t value) {
    return mark(where, value);
  }
  /// Asks how the queue is, without waiting. \errors `device_fault`
  [[nodiscard]] virtual result<void> check() = 0;
  /// Waits until all that was enqueued has run. Used before a worker is ready, never after.
  [[nodiscard]] virtual result<void> finish() = 0;
};

/// The accelerator as one worker sees it. Control calls come from one thread, lanes are used by
/// another; an implementation orders what both touch.
class accelerator {
 public:
  virtual ~accelerator() = default;

  /// Called first by each thread that will use it.
  virtual void enter_thread() = 0;

  /// Maps a piece of device memory, given by descriptor, at `at`; readable and writable.
  [[nodiscard]] virtual result<void> map(std::byte* at, std::uint64_t bytes, int descriptor) = 0;
  /// Undoes `map` of that piece.
  [[nodiscard]] virtual result<void> unmap(std::byte* at, std::uint64_t bytes) = 0;
  /// Changes the rights of pieces that were mapped, whole.
  [[nodiscard]] virtual result<void> protect(std::byte* at, std::uint64_t bytes,
                                             bool read_only) = 0;
  /// Makes mapped host memory reachable for queues, at its own address.
  [[nodiscard]] virtual result<void> share(std::byte* at, std::uint64_t bytes) = 0;

  [[nodiscard]] virtual result<std::unique_ptr<accelerator_lane>> make_lane(int number) = 0;
};

/// What `troupe_backend_accelerator` is called with.
struct accelerator_config {
  std::string_view device;  ///< which one, as its provider names it (a UUID)
  std::byte* memory_base = nullptr;
  std::uint64_t memory_bytes = 0;  ///< the address range that pieces are mapped into
  /// In the program itself, which has taken the address range already (`device_source::reserve`).
  bool in_program = false;
};

/// Signature of `troupe_backend_accelerator`: fills `made`, or `outcome` with why not.
using make_accelerator = void(const accelerator_config& config, std::unique_ptr<accelerator>& made,
                              result<void>& outcome);

/// Signature of `troupe_backend_warm_up`, which any plugin may export: runs or enqueues a small
/// request of each kind of work it does, so that libraries, handles and code are loaded before they
/// are needed. The lane is one of the backend's accelerator, if it brings one.
using warm_up_lane = void(lane_context& lane, result<void>& outcome);

}  // namespace troupe
