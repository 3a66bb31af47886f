#include "device/copy_crew.hpp"

#include <sys/prctl.h>

namespace troupe {

copy_crew::~copy_crew() {
  {
    const std::lock_guard lock(board_->mutex);
    board_->ending = true;
  }
  board_->changed.notify_all();
  for (std::thread& one : threads_) {
    if (one.get_id() == std::this_thread::get_id()) {
      one.detach();
    } else {
      one.join();
    }
  }
}

void copy_crew::post(unique_function<void()> work) {
  if (most_threads_ == 0) return work();
  {
    const std::lock_guard lock(board_->mutex);
    board_->work.push_back(std::move(work));
    if (board_->idle < board_->work.size() && threads_.size() < most_threads_) {
      threads_.emplace_back([shared = board_] { serve(shared); });
    }
  }
  board_->changed.notify_one();
}

void copy_crew::serve(const std::shared_ptr<board>& shared) {
  ::prctl(PR_SET_NAME, "troupe-copy");
  std::unique_lock lock(shared->mutex);
  for (;;) {
    ++shared->idle;
    shared->changed.wait(lock, [&] { return shared->ending || !shared->work.empty(); });
    --shared->idle;
    if (shared->work.empty()) return;
    unique_function<void()> next = std::move(shared->work.front());
    shared->work.pop_front();
    lock.unlock();
    next();
    next = {};  // what it kept goes before the lock is taken again
    lock.lock();
  }
}

}  // namespace troupe
