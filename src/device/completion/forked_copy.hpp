#pragma once

#include "device/mailbox/record.hpp"
#include "os/fork_count.hpp"

#include <troupe/base/error.hpp>
#include <troupe/core/future.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace troupe {

/// The device in a process that was forked from the one that made it. Nothing there may touch the
/// memory that both share; futures that a thread waits for fail.
class forked_copy {
 public:
  explicit forked_copy(std::span<record> records) noexcept : records_(records) {}

  [[nodiscard]] bool is_here() const noexcept { return made_in_ != os::fork_count(); }
  [[nodiscard]] static error why();

  /// Registers a promise that no request answers.
  void track_promise(const std::shared_ptr<promise<void>>& answer);
  /// Fails everything. Precondition: this is the copy, which has only one thread.
  void fail_all() noexcept;

 private:
  const std::uint32_t made_in_ = os::fork_count();
  const std::span<record> records_;
  std::mutex mutex_;  // guards the next two
  std::vector<std::weak_ptr<promise<void>>> promises_;
  std::size_t limit_ = 0;  // clean up expired ones at this size
};

}  // namespace troupe
