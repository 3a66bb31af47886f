#pragma once

#include "core/dispatch/deferred_continuations.hpp"

#include <troupe/base/result.hpp>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace troupe::detail {

/// Runs continuations for a thread that they must not hold up: they are the program's, and may wait
/// for anything and take as long as they like. Where one waits, what comes meanwhile runs below it,
/// because it may be what is waited for.
///
/// Its thread owns it, too, so that one which never returns can be left behind.
class program_thread final : private wait_strategy {
 public:
  /// \errors `system_error` where the thread cannot be started
  [[nodiscard]] static result<std::shared_ptr<program_thread>> start();
  program_thread(const program_thread&) = delete;
  program_thread& operator=(const program_thread&) = delete;
  ~program_thread() = default;

  /// Runs these in order, after those before. By any thread, until `finish`.
  void run_soon(continuation_queue more);
  [[nodiscard]] bool is_this_thread() const noexcept {
    return duties_.load(std::memory_order_relaxed) == &deferred_continuations::mine();
  }

  /// Returns once all that were handed over before have run, but for one that waits.
  /// Precondition: `!is_this_thread()`.
  void settle();
  /// The same, and the thread ends after them; one that waits, and its thread, are left behind.
  /// By one thread at a time.
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
  // Of the thread while it runs, after which another one may have them in that place. Relaxed: only
  // for that one it makes a difference, and it sees what it wrote.
  std::atomic<const deferred_continuations*> duties_{nullptr};
  // Continuations that wait, nested. Relaxed: the thread itself looks, or one that it has given
  // what was next.
  std::atomic<int> waits_{0};

  std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  continuation_queue next_;
  bool ending_ = false;  // nothing more comes
  bool ended_ = false;   // nothing more runs
};

}  // namespace troupe::detail
