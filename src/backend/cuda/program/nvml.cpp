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

struct utilization_rates {
  unsigned gpu;  // per cent of the last sample period
  unsigned memory;
};
constexpr unsigned sensor_of_gpu = 0;
constexpr unsigned clock_of_sm = 1;
constexpr unsigned clock_of_memory = 2;
constexpr unsigned corrected = 0;
constexpr unsigned uncorrected = 1;
constexpr unsigned since_driver_load = 0;

// Reasons that somebody can do something about: not that a GPU is idle, or set to lower clocks.
struct throttle_reason {
  unsigned long long bit;
  const char* name;
};
constexpr throttle_reason throttle_reasons[] = {
    {0x4, "power"},    {0x8, "hardware"},          {0x10, "sync_boost"},
    {0x20, "thermal"}, {0x40, "hardware_thermal"}, {0x80, "power_brake"}};

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
  // Null in a driver that lacks them.
  int (*power)(handle, unsigned* milliwatts) = nullptr;
  int (*power_limit)(handle, unsigned* milliwatts) = nullptr;
  int (*temperature)(handle, unsigned sensor, unsigned* celsius) = nullptr;
  int (*utilization)(handle, utilization_rates*) = nullptr;
  int (*clock)(handle, unsigned clock, unsigned* megahertz) = nullptr;
  int (*ecc_errors)(handle, unsigned kind, unsigned since, unsigned long long*) = nullptr;
  int (*throttled_by)(handle, unsigned long long*) = nullptr;
};

// The value that a function reports, if there is the function, and the device has the value.
template <class T, class Function, class... Args>
std::optional<T> ask(Function* function, handle device, Args... args) {
  T value{};
  if (function == nullptr || function(device, args..., &value) != success) return std::nullopt;
  return value;
}

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
  get(f.power, "nvmlDeviceGetPowerUsage");
  get(f.power_limit, "nvmlDeviceGetEnforcedPowerLimit");
  get(f.temperature, "nvmlDeviceGetTemperature");
  get(f.utilization, "nvmlDeviceGetUtilizationRates");
  get(f.clock, "nvmlDeviceGetClockInfo");
  get(f.ecc_errors, "nvmlDeviceGetTotalEccErrors");
  get(f.throttled_by, "nvmlDeviceGetCurrentClocksThrottleReasons");
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

gpu_sensors nvml_device::sensors() {
  const functions& f = nvml();
  const auto scaled = [](auto value, double by) {
    return value ? std::optional(static_cast<double>(*value) * by) : std::nullopt;
  };
  constexpr double milli = 1e-3;
  constexpr double mega = 1e6;
  constexpr double per_cent = 1e-2;
  gpu_sensors now;
  now.power_watts = scaled(ask<unsigned>(f.power, device_), milli);
  now.power_limit_watts = scaled(ask<unsigned>(f.power_limit, device_), milli);
  now.temperature_celsius = scaled(ask<unsigned>(f.temperature, device_, sensor_of_gpu), 1);
  if (const auto rates = ask<utilization_rates>(f.utilization, device_)) {
    now.utilization = rates->gpu * per_cent;
    now.memory_utilization = rates->memory * per_cent;
  }
  now.sm_clock_hertz = scaled(ask<unsigned>(f.clock, device_, clock_of_sm), mega);
  now.memory_clock_hertz = scaled(ask<unsigned>(f.clock, device_, clock_of_memory), mega);
  if (const auto used = memory()) {
    now.memory_used_bytes = used->total - used->free;
    now.memory_total_bytes = used->total;
  }
  const auto errors = [&](unsigned kind) -> std::optional<std::uint64_t> {
    return ask<unsigned long long>(f.ecc_errors, device_, kind, since_driver_load);
  };
  now.corrected_ecc_errors = errors(corrected);
  now.uncorrected_ecc_errors = errors(uncorrected);
  if (const auto reasons = ask<unsigned long long>(f.throttled_by, device_)) {
    now.throttled_by.emplace();
    for (const throttle_reason& one : throttle_reasons) {
      if ((*reasons & one.bit) != 0) now.throttled_by->emplace_back(one.name);
    }
  }
  now.at = std::chrono::steady_clock::now();
  return now;
}

}  // namespace troupe::cuda
