#pragma once

#include "core/dispatch/deferred_continuations.hpp"

#include <troupe/base/unique_function.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>

namespace troupe {

/// Threads that copy bytes within the program's memory. They start with the first job and sleep
/// while there is none; not at once, because copies follow one another, and waking a thread takes
/// as long as copying 256 KiB.
class copy_pool {
 public:
  /// What several threads do at once, in parts.
  class job {
   public:
    /// Called once for each part, by any thread of the pool.
    virtual void do_part(std::uint32_t part) noexcept = 0;

   protected:
    ~job() = default;
  };

  /// Has what the program continues with run elsewhere, since it may wait for anything, for a copy
  /// too. Called by a thread of the pool that has completed a future, while it still has the job.
  using hand_on = unique_function<void(detail::continuation_queue)>;

  copy_pool(unsigned threads, hand_on continuations);
  /// No job is left by then: jobs keep the owner of the pool alive. The last one may end the pool
  /// on one of its own threads.
  ~copy_pool();
  copy_pool(const copy_pool&) = delete;
  copy_pool& operator=(const copy_pool&) = delete;

  [[nodiscard]] unsigned threads() const noexcept { return threads_; }

  /// Has the parts done, after those of earlier jobs have begun. Done by the caller where there is
  /// no thread and none can be started.
  void add(const std::shared_ptr<job>& what, std::uint32_t parts);

 private:
  class board;

  const unsigned threads_;
  // Shared with the threads, one of which may outlive the pool; see the destructor.
  const std::shared_ptr<board> board_;
};

}  // namespace troupe
