#include "backend/cuda/program/nvml.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <thread>

namespace troupe::cuda {
namespace {

// The used part of nvml.h, which is not in the toolkit's minimal packages. The layouts are the
// library's stable interface. Source: NVML API Reference Guide.
using handle = void*;
constexpr int success = 0;
constexpr int timed_out = 10;
constexpr unsigned long long event_xid_critical = 8;

struct event_data {
  handle device;
  unsigned long long type;
  unsigned long long data;
  unsigned gpu_instance;
  unsigned compute_instance;
};
struct process_info {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance;
  unsigned compute_instance;
};
struct memory_info {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct functions {
  int (*init)() = nullptr;
  int (*by_uuid)(const char*, handle*) = nullptr;
  int (*events_create)(handle*) = nullptr;
  int (*events_register)(handle, unsigned long long, handle) = nullptr;
  int (*events_wait)(handle, event_data*, unsigned) = nullptr;
  int (*events_free)(handle) = nullptr;
  int (*processes)(handle, unsigned*, process_info*) = nullptr;
  int (*memory)(handle, memory_info*) = nullptr;
  bool usable = false;
};

functions find() {
  functions f;
  // Never closed, and never shut down: other parts of the program may use it too.
  void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return f;
  bool all = true;
  const auto get = [&]<class F>(F*& to, const char* name) {
    to = reinterpret_cast<F*>(::dlsym(library, name));
    all = all && to != nullptr;
  };
  get(f.init, "nvmlInit_v2");
  get(f.by_uuid, "nvmlDeviceGetHandleByUUID");
  get(f.events_create, "nvmlEventSetCreate");
  get(f.events_register, "nvmlDeviceRegisterEvents");
  get(f.events_wait, "nvmlEventSetWait_v2");
  get(f.events_free, "nvmlEventSetFree");
  get(f.processes, "nvmlDeviceGetComputeRunningProcesses_v3");
  get(f.memory, "nvmlDeviceGetMemoryInfo");
  f.usable = all && f.init() == success;
  return f;
}

const functions& nvml() {
  static const functions found = find();
  return found;
}

}  // namespace

std::unique_ptr<nvml_device> nvml_device::open(const std::string& uuid) {
  if (!nvml().usable) return nullptr;
  std::unique_ptr<nvml_device> opened(new nvml_device);
  if (nvml().by_uuid(uuid.c_str(), &opened->device_) != success) return nullptr;
  if (nvml().events_create(&opened->events_) != success) {
    opened->events_ = nullptr;
  } else if (nvml().events_register(opened->device_, event_xid_critical, opened->events_) !=
             success) {
    (void)nvml().events_free(opened->events_);
    opened->events_ = nullptr;
  }
  return opened;
}

nvml_device::~nvml_device() {
  if (events_ != nullptr) (void)nvml().events_free(events_);
}

std::optional<std::uint64_t> nvml_device::wait_for_xid(std::chrono::milliseconds timeout) {
  if (events_ == nullptr) {
    std::this_thread::sleep_for(timeout);
    return std::nullopt;
  }
  event_data event{};
  const int code = nvml().events_wait(events_, &event, static_cast<unsigned>(timeout.count()));
  // If the device is gone, the call returns at once: a caller in a loop must not spin.
  if (code != success && code != timed_out) std::this_thread::sleep_for(timeout);
  if (code != success || event.type != event_xid_critical) return std::nullopt;
  return event.data;
}

std::optional<std::vector<std::int32_t>> nvml_device::processes() {
  std::vector<process_info> found(64);
  auto count = static_cast<unsigned>(found.size());
  if (nvml().processes(device_, &count, found.data()) != success) return std::nullopt;
  std::vector<std::int32_t> pids;
  for (unsigned i = 0; i < std::min<unsigned>(count, static_cast<unsigned>(found.size())); ++i)
    pids.push_back(static_cast<std::int32_t>(found[i].pid));
  return pids;
}

std::optional<nvml_device::level> nvml_device::memory() {
  memory_info info{};
  if (nvml().memory(device_, &info) != success) return std::nullopt;
  return level{.free = info.free, .total = info.total};
}

}  // namespace troupe::cuda
