#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace troupe::cpu {

/// Threads that share the tasks of one call at a time; a call while another runs is not shared.
///
/// The caller owns `call_` and `data_`, and publishes them by `round_` (release); threads read them
/// after they have seen a new round (acquire). The caller sees all that tasks write once
/// `active_` is 0 (release by each thread, acquire by the caller).
class thread_pool {
 public:
  thread_pool() = default;
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;
  ~thread_pool();

  /// Calls `of(task)` for each of `tasks`; returns when all have ended.
  template <class Of>
  void run(std::int64_t tasks, Of of) {
    run(tasks, [](void* held, std::int64_t task) { (*static_cast<Of*>(held))(task); }, &of);
  }

 private:
  using call = void (*)(void*, std::int64_t);

  void run(std::int64_t tasks, call of, void* data);
  void start();
  void take();
  void serve();

  std::mutex one_call_;
  bool started_ = false;
  std::vector<std::thread> threads_;
  std::atomic<std::uint32_t> round_{0};
  std::atomic<bool> ending_{false};
  std::atomic<std::int64_t> active_{0};
  std::atomic<std::int64_t> next_{0};
  std::int64_t tasks_ = 0;
  call call_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace troupe::cpu
