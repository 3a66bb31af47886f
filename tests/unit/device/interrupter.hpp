#pragma once

#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace troupe::testing_interrupts {

/// Holds threads up for a moment, at any instruction, while others continue: an event between two
/// instructions that otherwise happens once in a million times happens in every second test.
class interrupter {
 public:
  interrupter() {
    struct sigaction action{};
    action.sa_handler = [](int) {
      const timespec moment{.tv_sec = 0, .tv_nsec = 1'000};
      ::nanosleep(&moment, nullptr);
    };
    action.sa_flags = SA_RESTART;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGUSR1, &action, nullptr);
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }

  /// The calling thread is one of them until this goes.
  class victim {
   public:
    explicit victim(interrupter& by) : by_(by) {
      const std::lock_guard lock(by_.mutex_);
      by_.victims_.push_back(::pthread_self());
    }
    victim(const victim&) = delete;
    victim& operator=(const victim&) = delete;
    ~victim() {
      const std::lock_guard lock(by_.mutex_);
      std::erase(by_.victims_, ::pthread_self());
    }

   private:
    interrupter& by_;
  };

 private:
  void run(const std::stop_token& stop) {
    ::prctl(PR_SET_TIMERSLACK, 1);
    std::minstd_rand random(1);
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(random() % 20'000));
      const std::lock_guard lock(mutex_);
      if (!victims_.empty()) ::pthread_kill(victims_[random() % victims_.size()], SIGUSR1);
    }
  }

  std::mutex mutex_;
  std::vector<pthread_t> victims_;
  std::jthread thread_;
};

}  // namespace troupe::testing_interrupts
