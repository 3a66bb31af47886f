// A libnvidia-ml.so.1 with two GPUs: it reports at once that GPU-lost is lost, and that GPU-there
// had an Xid 13.

#include <array>
#include <cstring>

namespace {

struct event_data {
  void* device;
  unsigned long long type;
  unsigned long long data;
  unsigned gpu_instance;
  unsigned compute_instance;
};
constexpr int gpu_is_lost = 15;
constexpr int not_supported = 3;
char there = 0;
char lost = 0;
std::array<void*, 8> sets;  // the device that was registered last
std::size_t next_set = 0;

}  // namespace

extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  *device = std::strcmp(uuid, "GPU-there") == 0 ? &there : &lost;
  return 0;
}
int nvmlEventSetCreate(void** set) {
  *set = &sets.at(next_set++);
  return 0;
}
int nvmlDeviceRegisterEvents(void* device, unsigned long long, void* set) {
  *static_cast<void**>(set) = device;
  return 0;
}
int nvmlEventSetWait_v2(void* set, event_data* event, unsigned) {
  void* const device = *static_cast<void**>(set);
  if (device == &lost) return gpu_is_lost;
  *event = {.device = device, .type = 8, .data = 13, .gpu_instance = 0, .compute_instance = 0};
  return 0;
}
int nvmlEventSetFree(void*) { return 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned*, void*) { return gpu_is_lost; }
int nvmlDeviceGetMemoryInfo(void*, void*) { return gpu_is_lost; }

// GPU-there lacks two sensors: its driver has no temperature, and it has no ECC counters.
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  *milliwatts = 123'500;
  return device == &there ? 0 : gpu_is_lost;
}
int nvmlDeviceGetUtilizationRates(void* device, unsigned* rates) {
  rates[0] = 75;
  rates[1] = 20;
  return device == &there ? 0 : gpu_is_lost;
}
int nvmlDeviceGetClockInfo(void* device, unsigned clock, unsigned* megahertz) {
  *megahertz = clock == 1 ? 1980 : 2619;
  return device == &there ? 0 : gpu_is_lost;
}
int nvmlDeviceGetTotalEccErrors(void*, unsigned, unsigned, unsigned long long*) {
  return not_supported;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  *reasons = 0x1 | 0x4 | 0x40;
  return device == &there ? 0 : gpu_is_lost;
}

}  // extern "C"
