#pragma once

#include "unit/worker/fake_accelerator.hpp"

#include <functional>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

// The thread of a fake lane; `fake_accelerator.hpp` includes it.
namespace troupe::testing_worker {

inline void fake_lane::run() {
  std::minstd_rand random(device_.seed() * 64 + static_cast<unsigned>(number_) + 1);
  for (;;) {
    std::function<void()> work;
    {
      std::unique_lock lock(mutex_);
      more_.wait(lock, [&] { return ending_.load() || !queue_.empty(); });
      if (ending_.load()) return;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    // Lanes overtake each other differently with each seed.
    for (auto pauses = random() % 4; pauses > 0; --pauses)
      std::this_thread::yield();
    if (!device_.lost.load()) work();
    done_->fetch_add(1, std::memory_order_release);
  }
}

}  // namespace troupe::testing_worker
