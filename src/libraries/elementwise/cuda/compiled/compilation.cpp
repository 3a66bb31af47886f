#include "libraries/elementwise/cuda/compiled/compilation.hpp"

#include "backend/cuda/context/failure.hpp"
#include "base/try.hpp"
#include "libraries/elementwise/cuda/compiled/device_text.hpp"

#include <fmt/format.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

namespace troupe::cuda {
namespace {

jit::compiler& compiler() {
  static jit::compiler one;
  return one;
}

/// A thread that starts with the first task and ends with the process.
class background {
 public:
  static background& instance() {
    static background one;
    return one;
  }
  void run(std::function<void()> task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
  }

 private:
  background()
      : thread_([this](const std::stop_token& stop) {
          for (;;) {
            std::unique_lock lock(mutex_);
            if (!changed_.wait(lock, stop, [this] { return !tasks_.empty(); })) return;
            const std::function<void()> task = std::move(tasks_.front());
            tasks_.pop_front();
            lock.unlock();
            task();
          }
        }) {
    (void)compiler();  // used by the thread, so it must end later
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> tasks_;
  std::jthread thread_;  // last: it uses the other members
};

}  // namespace

future<jit::binary> compile(std::string name, std::string text, std::string architecture,
                            jit::image_kind output) {
  return compiler().compile({.text = std::move(text),
                             .name = std::move(name),
                             .headers = device_headers(),
                             .options = {"--std=c++20", "--fmad=false"},
                             .architecture = std::move(architecture),
                             .output = output});
}

void run_in_background(std::function<void()> task) { background::instance().run(std::move(task)); }

result<std::string> current_architecture() {
  int device = 0;
  int major = 0;
  int minor = 0;
  TRY(check(cudaGetDevice(&device), "cudaGetDevice"));
  for (auto [to, what] : {std::pair(&major, cudaDevAttrComputeCapabilityMajor),
                          std::pair(&minor, cudaDevAttrComputeCapabilityMinor)}) {
    TRY(check(cudaDeviceGetAttribute(to, what, device), "cudaDeviceGetAttribute"));
  }
  return fmt::format("sm_{}{}", major, minor);
}

}  // namespace troupe::cuda
