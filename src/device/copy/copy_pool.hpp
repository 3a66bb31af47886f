#pragma once

#include "core/dispatch/deferred_continuations.hpp"

#include <troupe/base/unique_function.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>

namespace troupe {

/// Threads that copy bytes within the program's memory. They start with the first job and sleep
/// while there is none, but only after a while: copies follow one another, and waking a thread
/// takes as long as copying 256 KiB.
class copy_pool {
 public:
  /// Work that several threads share, in parts.
  class job {
   public:
    /// Called once for each part, by any thread of the pool.
    virtual void do_part(std::uint32_t part) noexcept = 0;

   protected:
    ~job() = default;
  };

  /// Runs the program's continuations elsewhere, because they may wait for anything, even a copy.
  /// Called by a pool thread that has completed a future, while it still holds the job.
  using hand_on = unique_function<void(detail::continuation_queue)>;

  copy_pool(unsigned threads, hand_on continuations);
  /// No job is left by then, because jobs keep the owner of the pool alive. The last job may
  /// destroy the pool on one of its own threads.
  ~copy_pool();
  copy_pool(const copy_pool&) = delete;
  copy_pool& operator=(const copy_pool&) = delete;

  [[nodiscard]] unsigned threads() const noexcept { return threads_; }

  /// Queues the parts after those of earlier jobs. The caller does them if there is no thread and
  /// none can be started.
  void add(const std::shared_ptr<job>& what, std::uint32_t parts);

 private:
  class board;

  const unsigned threads_;
  // Shared with the threads, one of which may outlive the pool; see the destructor.
  const std::shared_ptr<board> board_;
};

}  // namespace troupe
