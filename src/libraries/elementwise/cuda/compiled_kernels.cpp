#include "libraries/elementwise/cuda/compiled_kernels.hpp"

#include "libraries/elementwise/cuda/device_text.hpp"

#include <troupe/jit/compiler.hpp>

#include <fmt/format.h>

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>

namespace troupe::cuda {
namespace {

/// The kernels of one context, for as long as the process lives: what is loaded stays.
struct kernel_store {
  std::mutex mutex;
  std::string architecture;  ///< asked once: the driver may keep who asks waiting while it loads
  std::unordered_map<key_words, std::shared_ptr<compiled_kernel>, key_hash> kernels;
};

kernel_store& store_of(CUcontext context) {
  static std::mutex mutex;
  static std::unordered_map<CUcontext, std::unique_ptr<kernel_store>> stores;
  const std::lock_guard lock(mutex);
  auto& store = stores[context];
  if (!store) store = std::make_unique<kernel_store>();
  return *store;
}

jit::compiler& compiler() {
  static jit::compiler one;
  return one;
}

/// A thread that writes sources, which takes as long as some launches do. It starts when there is
/// something to do, and ends with the process.
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
    (void)compiler();  // which it uses, so that it ends later
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> tasks_;
  std::jthread thread_;  // last: it uses the others
};

result<std::string> architecture(const driver& d) {
  CUdevice device = 0;
  int major = 0;
  int minor = 0;
  if (auto got = check(d.cuCtxGetDevice(&device), "cuCtxGetDevice"); !got)
    return std::move(got).error();
  for (auto [to, what] : {std::pair(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                          std::pair(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)}) {
    if (auto got = check(d.cuDeviceGetAttribute(to, what, device), "cuDeviceGetAttribute"); !got) {
      return std::move(got).error();
    }
  }
  return fmt::format("sm_{}{}", major, minor);
}

result<void> load_into(const driver& d, CUcontext context, const jit::binary& image,
                       const std::vector<std::string>& names, compiled_kernel& kernel) {
  CUcontext before = nullptr;
  (void)d.cuCtxGetCurrent(&before);
  if (auto made = check(d.cuCtxSetCurrent(context), "cuCtxSetCurrent"); !made) return made;
  const auto load = [&]() -> result<void> {
    CUmodule loaded = nullptr;
    if (auto made = check(d.cuModuleLoadDataEx(&loaded, image.image.data(), 0, nullptr, nullptr),
                          "cuModuleLoadDataEx");
        !made) {
      return made;
    }
    for (const std::string& name : names) {
      CUfunction& function = kernel.functions[name];
      if (auto got =
              check(d.cuModuleGetFunction(&function, loaded, name.c_str()), "cuModuleGetFunction");
          !got) {
        return got;
      }
      if (auto got = check(d.cuFuncLoad(function), "cuFuncLoad"); !got) return got;
    }
    return {};
  };
  auto outcome = load();
  (void)d.cuCtxSetCurrent(before);
  return outcome;
}

}  // namespace

result<std::shared_ptr<compiled_kernel>> compiled_for(const driver& d, key_words key,
                                                      std::vector<std::string> names,
                                                      std::function<std::string()> source) {
  CUcontext context = nullptr;
  if (auto got = check(d.cuCtxGetCurrent(&context), "cuCtxGetCurrent"); !got) {
    return std::move(got).error();
  }
  kernel_store& store = store_of(context);
  std::shared_ptr<compiled_kernel> kernel;
  std::string target;
  {
    const std::lock_guard lock(store.mutex);
    if (store.architecture.empty()) {
      auto found = architecture(d);
      if (!found) return std::move(found).error();
      store.architecture = *std::move(found);
    }
    target = store.architecture;
    auto& known = store.kernels[std::move(key)];
    if (known) return known;
    kernel = known = std::make_shared<compiled_kernel>();
  }
  background::instance().run([&d, context, kernel, target = std::move(target),
                              names = std::move(names), source = std::move(source)]() mutable {
    jit::source what{.text = source(),
                     .name = "elementwise.cu",
                     .headers = device_headers(),
                     .options = {"--std=c++20", "--fmad=false"},
                     .architecture = std::move(target)};
    (void)compiler()
        .compile(std::move(what))
        .then([&d, context, names = std::move(names), kernel](result<jit::binary> made) {
          result<void> outcome = made ? load_into(d, context, *made, names, *kernel)
                                      : result<void>(std::move(made).error());
          if (!outcome) kernel->failure = outcome.error().to_string();
          using enum compiled_kernel::state;
          kernel->now.store(outcome ? ready : failed, std::memory_order_release);
          kernel->now.notify_all();
        });
  });
  return kernel;
}

kernel_policy policy() noexcept {
  static const kernel_policy found = [] {
    const char* const value = std::getenv("TROUPE_ELEMENTWISE");
    const std::string_view word = value == nullptr ? "" : value;
    if (word == "interpreted") return kernel_policy::interpreted;
    return word == "compiled" ? kernel_policy::compiled : kernel_policy::automatic;
  }();
  return found;
}

}  // namespace troupe::cuda
