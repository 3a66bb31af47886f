#include "libraries/elementwise/cuda/compiled/compiled_kernels.hpp"

#include "libraries/elementwise/cuda/compiled/compilation.hpp"

#include <troupe/jit/compiler.hpp>

#include <mutex>
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
      auto found = current_architecture();
      if (!found) return std::move(found).error();
      store.architecture = *std::move(found);
    }
    target = store.architecture;
    auto& known = store.kernels[std::move(key)];
    if (known) return known;
    kernel = known = std::make_shared<compiled_kernel>();
  }
  run_in_background([&d, context, kernel, target = std::move(target), names = std::move(names),
                     source = std::move(source)]() mutable {
    (void)compile("elementwise.cu", source(), std::move(target), jit::image_kind::cubin)
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

}  // namespace troupe::cuda
