// The reactor in a process that was forked from the one that made the device.
#include "device/completion/reactor.hpp"

#include <algorithm>

namespace troupe {

error reactor::copy_error() {
  return {.code = errc::device_stopped,
          .message =
              "this process was forked from the one that made the device, which works for "
              "that one only: make systems and devices after fork() or daemon()"};
}

void reactor::track_promise(const std::shared_ptr<promise<void>>& answer) {
  const std::lock_guard lock(owed_mutex_);
  if (owed_.size() >= owed_limit_) {
    std::erase_if(owed_, [](const auto& one) { return one.expired(); });
    owed_limit_ = std::max<std::size_t>(64, 2 * owed_.size());
  }
  owed_.push_back(answer);
}

// Only one thread is left here. The requests themselves belong to the parent process.
void reactor::fail_in_copy() noexcept {
  for (std::uint32_t slot = 0; slot < requests_.capacity(); ++slot) {
    if (!records_[slot].done) continue;
    error why = copy_error();
    completion done = std::move(records_[slot].done);
    done(nullptr, &why);
  }
  // The thread that held the lock at the fork does not exist here.
  const std::unique_lock lock(owed_mutex_, std::try_to_lock);
  if (!lock) return;
  for (const auto& one : std::exchange(owed_, {})) {
    if (const auto answer = one.lock()) answer->set_error(copy_error());
  }
}

}  // namespace troupe
