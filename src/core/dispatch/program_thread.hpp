#pragma once

#include "core/dispatch/deferred_continuations.hpp"

#include <troupe/base/result.hpp>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace troupe::detail {

/// Runs continuations for a thread that they must not hold up: they are the program's code, and may
/// wait for anything and take any time. While one waits, later ones run on top of it, because it
/// may be waiting for them.
///
/// Its thread owns it, too, so that a thread that never returns can be abandoned.
class program_thread final : private wait_strategy {
 public:
  /// \errors `system_error` if the thread cannot be started
  [[nodiscard]] static result<std::shared_ptr<program_thread>> start();
  program_thread(const program_thread&) = delete;
  program_thread& operator=(const program_thread&) = delete;
  ~program_thread() = default;

  /// Runs these in order, after earlier ones. By any thread, until `finish`.
  void run_soon(continuation_queue more);
  [[nodiscard]] bool is_this_thread() const noexcept {
    return duties_.load(std::memory_order_relaxed) == &deferred_continuations::mine();
  }

  /// Returns once all earlier ones have run, except one that waits.
  /// Precondition: `!is_this_thread()`.
  void settle();
  /// The same, and the thread ends after them; one that waits, and its thread, are abandoned. By
  /// one thread at a time.
  void finish();

 private:
  struct milestone;

  program_thread() = default;
  void serve() noexcept;
  [[nodiscard]] continuation_queue take() noexcept;
  void wait_until(const future_state_base* state,
                  future_state_base::time_point deadline) noexcept override;
  [[nodiscard]] bool pass_milestone();

  std::thread thread_;
  // The thread's, while it runs; after that another thread may have the same address. Relaxed: only
  // the thread itself needs it, and it sees its own write.
  std::atomic<const deferred_continuations*> duties_{nullptr};
  // How many continuations wait, nested. Relaxed: read only by the thread itself, or by one that
  // got its next continuations.
  std::atomic<int> waits_{0};

  std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  continuation_queue next_;
  bool ending_ = false;  // nothing more comes
  bool ended_ = false;   // nothing more runs
};

}  // namespace troupe::detail
