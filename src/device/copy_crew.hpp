#pragma once

#include <troupe/core/unique_function.hpp>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace troupe {

/// Threads that move bytes within the program's memory: one processor moves a fifth of what a GPU's
/// link takes. They come with the work and sleep while there is none.
class copy_crew {
 public:
  /// With no threads at all, whoever has work does it.
  explicit copy_crew(unsigned most_threads) : most_threads_(most_threads) {}
  /// There is no work by then: what is posted keeps whoever owns the crew.
  ~copy_crew();
  copy_crew(const copy_crew&) = delete;
  copy_crew& operator=(const copy_crew&) = delete;

  [[nodiscard]] unsigned most_threads() const noexcept { return most_threads_; }
  void post(unique_function<void()> work);

 private:
  // Shared with the threads: the last piece of work may end the crew, on one of them.
  struct board {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<unique_function<void()>> work;  // under the mutex, as all of this
    unsigned idle = 0;
    bool ending = false;
  };
  static void serve(const std::shared_ptr<board>& shared);

  const unsigned most_threads_;
  std::shared_ptr<board> board_ = std::make_shared<board>();
  std::vector<std::thread> threads_;  // under the board's mutex
};

}  // namespace troupe
