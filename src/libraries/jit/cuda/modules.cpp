#include "libraries/jit/cuda/modules.hpp"

#include "base/try.hpp"
#include "jit/client/digest_hash.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace troupe::cuda {
namespace {

/// An image that is loaded in a context.
class loaded_image {
 public:
  loaded_image(const driver& d, CUcontext context, CUmodule native) noexcept
      : driver_(d), context_(context), native_(native) {}
  // With an in-process worker, the destroying thread may have another current context.
  ~loaded_image() {
    CUcontext before = nullptr;
    (void)driver_.cuCtxGetCurrent(&before);
    (void)driver_.cuCtxSetCurrent(context_);
    (void)driver_.cuModuleUnload(native_);
    (void)driver_.cuCtxSetCurrent(before);
  }
  loaded_image(const loaded_image&) = delete;
  loaded_image& operator=(const loaded_image&) = delete;

  [[nodiscard]] CUmodule native() const noexcept { return native_; }

 private:
  const driver& driver_;
  CUcontext context_;
  CUmodule native_;
};

bool begins(std::span<const std::byte> image, std::string_view mark) {
  return image.size() > mark.size() && std::memcmp(image.data(), mark.data(), mark.size()) == 0;
}

result<std::shared_ptr<loaded_image>> load(const driver& d, CUcontext context,
                                           const jit::kernel& k) {
  const any_tensor& where = k.image();
  const auto image =
      std::span<const std::byte>(where.address(), static_cast<std::size_t>(where.count()));
  // Every worker, and any faulty kernel, may write to this memory.
  if (jit::digest_of(image) != k.image_digest()) {
    return error{
        .code = errc::invalid_argument,
        .message = "the image of the kernel is not what it was: its memory was overwritten"};
  }
  // The driver expects a terminating 0 in a text.
  using namespace std::string_view_literals;
  if (!begins(image,
              "\x7f"
              "ELF"sv) &&
      !begins(image, "\x50\xed\x55\xba"sv) && (image.empty() || image.back() != std::byte{0})) {
    return error{.code = errc::invalid_argument, .message = "the image is a text without an end"};
  }
  constexpr std::size_t log_bytes = 16'384;
  std::array<char, log_bytes> log{};
  std::array options{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size())};
  CUmodule native = nullptr;
  auto loaded = check(
      d.cuModuleLoadDataEx(&native, image.data(), options.size(), options.data(), values.data()),
      "cuModuleLoadDataEx");
  if (!loaded) {
    error why = std::move(loaded).error();
    log.back() = '\0';
    if (log.front() != '\0') why.message += fmt::format(": {}", log.data());
    return why;
  }
  return std::make_shared<loaded_image>(d, context, native);
}

/// The images of a context.
class image_store {
 public:
  explicit image_store(CUcontext context) noexcept : context_(context) {}

  result<std::shared_ptr<loaded_image>> find(const driver& d, const jit::kernel& k) {
    // Held while an image is loaded: the driver loads one at a time, too. Launches of kernels that
    // the lane knows do not come here.
    const std::lock_guard lock(mutex_);
    std::shared_ptr<loaded_image>& known = images_[k.image_digest()];
    if (known) return known;
    auto made = load(d, context_, k);
    if (!made) {
      images_.erase(k.image_digest());
      return made;
    }
    known = *made;
    return made;
  }

 private:
  const CUcontext context_;
  std::mutex mutex_;
  std::unordered_map<jit::digest, std::shared_ptr<loaded_image>, jit::digest_hash> images_;
};

/// The store of the current context; its lanes own it.
result<std::shared_ptr<image_store>> store_of_context(const driver& d) {
  CUcontext context = nullptr;
  TRY(check(d.cuCtxGetCurrent(&context), "cuCtxGetCurrent"));
  static std::mutex mutex;
  static std::unordered_map<CUcontext, std::weak_ptr<image_store>> stores;
  const std::lock_guard lock(mutex);
  std::weak_ptr<image_store>& known = stores[context];
  auto store = known.lock();
  if (!store) known = store = std::make_shared<image_store>(context);
  return store;
}

struct kernel_key {
  jit::digest image;
  std::string name;
  friend bool operator==(const kernel_key&, const kernel_key&) = default;
};
struct kernel_key_hash {
  [[nodiscard]] std::size_t operator()(const kernel_key& k) const noexcept {
    return jit::digest_hash()(k.image) ^ std::hash<std::string>()(k.name);
  }
};

/// The kernels of a lane.
struct lane_kernels {
  std::shared_ptr<image_store> images;
  std::unordered_map<kernel_key, launchable, kernel_key_hash> known;
  const kernel_key* last_key = nullptr;  // the last request's: often the same
  launchable* last = nullptr;
};

constexpr char attachment_key = 0;

result<int> attribute(const driver& d, CUfunction f, CUfunction_attribute what) {
  int value = 0;
  TRY(check(d.cuFuncGetAttribute(&value, what, f), "cuFuncGetAttribute"));
  return value;
}

result<std::vector<launchable::parameter>> parameters_of(const driver& d, CUfunction f) {
  std::vector<launchable::parameter> found;
  for (;;) {
    launchable::parameter one;
    const CUresult code = d.cuFuncGetParamInfo(f, found.size(), &one.offset, &one.bytes);
    if (code == CUDA_ERROR_INVALID_VALUE) return found;  // no more parameters
    TRY(check(code, "cuFuncGetParamInfo"));
    found.push_back(one);
  }
}

result<int> largest_shared_bytes(const driver& d) {
  CUdevice device = 0;
  TRY(check(d.cuCtxGetDevice(&device), "cuCtxGetDevice"));
  int bytes = 0;
  TRY(check(
      d.cuDeviceGetAttribute(&bytes, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device),
      "cuDeviceGetAttribute"));
  return bytes;
}

result<launchable> find_in(const driver& d, const std::shared_ptr<loaded_image>& image,
                           const std::string& name) {
  launchable made{.image = image};
  const CUresult code = d.cuModuleGetFunction(&made.function, image->native(), name.c_str());
  if (code == CUDA_ERROR_NOT_FOUND) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("the image has no kernel \"{}\": C++ names are mangled "
                                        "there, name it by an expression that it was compiled with",
                                        name)};
  }
  TRY(check(code, "cuModuleGetFunction"));
  // Load it now rather than at the launch: loading while kernels run may have to wait for them.
  TRY(check(d.cuFuncLoad(made.function), "cuFuncLoad"));
  made.parameters = TRY(parameters_of(d, made.function));
  made.declared = jit::signature::of(name);
  made.most_threads = TRY(attribute(d, made.function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
  made.static_shared_bytes = TRY(attribute(d, made.function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  made.most_dynamic_shared_bytes = TRY(largest_shared_bytes(d)) - made.static_shared_bytes;
  return made;
}

}  // namespace

result<launchable*> kernel_of(const driver& d, lane& where, const jit::kernel& k) {
  std::shared_ptr<void>& attached = where.attachment(&attachment_key);
  if (!attached) {
    auto store = TRY(store_of_context(d));
    auto made = std::make_shared<lane_kernels>();
    made->images = std::move(store);
    attached = std::move(made);
  }
  auto& kernels = *static_cast<lane_kernels*>(attached.get());
  const jit::digest image = k.image_digest();
  if (kernels.last != nullptr && kernels.last_key->image == image &&
      kernels.last_key->name == k.name()) {
    return kernels.last;
  }
  auto place = kernels.known.find({image, k.name()});
  if (place == kernels.known.end()) {
    const auto loaded = TRY(kernels.images->find(d, k));
    auto found = TRY(find_in(d, loaded, k.name()));
    place = kernels.known.emplace(kernel_key{image, k.name()}, std::move(found)).first;
  }
  // The map's nodes have stable addresses.
  kernels.last_key = &place->first;
  kernels.last = &place->second;
  return kernels.last;
}

}  // namespace troupe::cuda
