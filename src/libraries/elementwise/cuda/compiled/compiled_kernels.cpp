#include "libraries/elementwise/cuda/compiled/compiled_kernels.hpp"

#include "backend/cuda/context/per_context.hpp"
#include "libraries/elementwise/cuda/compiled/compilation.hpp"

#include <troupe/jit/compiler.hpp>

#include <mutex>
#include <unordered_map>
#include <utility>

namespace troupe::cuda {
namespace {

/// The kernels of one context.
struct kernel_store {
  std::mutex mutex;
  std::string architecture;  ///< queried once: the driver may block while it loads
  std::unordered_map<key_words, std::shared_ptr<compiled_kernel>, key_hash> kernels;
};

result<kernel_store*> store_of(CUcontext context) {
  static per_context<kernel_store, CUcontext> stores;
  return stores.of(context, []() -> result<std::unique_ptr<kernel_store>> {
    return std::make_unique<kernel_store>();
  });
}

result<void> load_into(const driver& d, CUcontext context, const jit::binary& image,
                       const std::vector<std::string>& names, compiled_kernel& kernel) {
  CUcontext before = nullptr;
  (void)d.cuCtxGetCurrent(&before);
  TRY(check(d.cuCtxSetCurrent(context), "cuCtxSetCurrent"));
  const auto load = [&]() -> result<void> {
    CUmodule loaded = nullptr;
    TRY(check(d.cuModuleLoadDataEx(&loaded, image.image.data(), 0, nullptr, nullptr),
              "cuModuleLoadDataEx"));
    for (const std::string& name : names) {
      CUfunction& function = kernel.functions[name];
      TRY(check(d.cuModuleGetFunction(&function, loaded, name.c_str()), "cuModuleGetFunction"));
      TRY(check(d.cuFuncLoad(function), "cuFuncLoad"));
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
  TRY(check(d.cuCtxGetCurrent(&context), "cuCtxGetCurrent"));
  kernel_store& store = *TRY(store_of(context));
  std::shared_ptr<compiled_kernel> kernel;
  std::string target;
  {
    const std::lock_guard lock(store.mutex);
    if (store.architecture.empty()) {
      store.architecture = TRY(current_architecture());
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
