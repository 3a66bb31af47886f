#include "device/completion/forked_copy.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

error forked_copy::why() {
  return {.code = errc::device_stopped,
          .message =
              "this process was forked from the one that made the device, which works for "
              "that one only: make systems and devices after fork() or daemon()"};
}

void forked_copy::track_promise(const std::shared_ptr<promise<void>>& answer) {
  const std::lock_guard lock(mutex_);
  if (promises_.size() >= limit_) {
    std::erase_if(promises_, [](const auto& one) { return one.expired(); });
    limit_ = std::max<std::size_t>(64, 2 * promises_.size());
  }
  promises_.push_back(answer);
}

// The requests themselves belong to the parent process.
void forked_copy::fail_all() noexcept {
  for (record& r : records_) {
    if (!r.done) continue;
    error none = why();
    completion done = std::move(r.done);
    done(nullptr, &none);
  }
  // The thread that held the lock at the fork does not exist here.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  for (const auto& one : std::exchange(promises_, {})) {
    if (const auto answer = one.lock()) answer->set_error(why());
  }
}

}  // namespace troupe
