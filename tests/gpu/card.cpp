#include "card.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

namespace troupe::gpu_test {
namespace {

// The needed part of nvml.h, which not every build machine has.
using device_handle = void*;
struct memory_info {
  unsigned long long total = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};
constexpr int success = 0;
constexpr int corrected = 0;
constexpr int uncorrected = 1;
constexpr int since_load = 0;

struct library {
  int (*init)() = nullptr;
  int (*by_index)(unsigned, device_handle*) = nullptr;
  int (*by_uuid)(const char*, device_handle*) = nullptr;
  int (*memory)(device_handle, memory_info*) = nullptr;
  int (*errors)(device_handle, int, int, unsigned long long*) = nullptr;
  bool usable = false;
};

library find() {
  library found;
  void* const file = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (file == nullptr) return found;
  bool all = true;
  const auto get = [&]<class F>(F*& to, const char* name) {
    to = reinterpret_cast<F*>(::dlsym(file, name));
    all = all && to != nullptr;
  };
  get(found.init, "nvmlInit_v2");
  get(found.by_index, "nvmlDeviceGetHandleByIndex_v2");
  get(found.by_uuid, "nvmlDeviceGetHandleByUUID");
  get(found.memory, "nvmlDeviceGetMemoryInfo");
  get(found.errors, "nvmlDeviceGetTotalEccErrors");
  found.usable = all && found.init() == success;
  return found;
}

bool first_visible(const library& nvml, device_handle& device) {
  const char* const text = std::getenv("CUDA_VISIBLE_DEVICES");
  std::string first(text != nullptr ? text : "");
  first = first.substr(0, first.find(','));
  if (first.starts_with("GPU-")) return nvml.by_uuid(first.c_str(), &device) == success;
  const auto index = static_cast<unsigned>(std::strtoul(first.c_str(), nullptr, 10));
  return nvml.by_index(index, &device) == success;
}

}  // namespace

std::optional<card_state> read_card() {
  static const library nvml = find();
  device_handle device = nullptr;
  if (!nvml.usable || !first_visible(nvml, device)) return std::nullopt;
  memory_info memory;
  if (nvml.memory(device, &memory) != success) return std::nullopt;
  card_state state{.used_bytes = memory.used};
  // A card without ECC has no counters; then they stay zero.
  unsigned long long count = 0;
  if (nvml.errors(device, corrected, since_load, &count) == success) state.corrected_errors = count;
  if (nvml.errors(device, uncorrected, since_load, &count) == success) {
    state.uncorrected_errors = count;
  }
  return state;
}

std::optional<card_state> read_quiet_card() {
  const auto begin = std::chrono::steady_clock::now();
  auto changed = begin;
  std::optional<card_state> last = read_card();
  while (last) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const std::optional<card_state> card = read_card();
    const auto now = std::chrono::steady_clock::now();
    if (!card || card->used_bytes != last->used_bytes) changed = now;
    last = card;
    if (now - changed >= std::chrono::seconds(1) || now - begin >= std::chrono::seconds(10)) break;
  }
  return last;
}

std::string card_amiss(const std::optional<card_state>& before) {
  if (!before) return {};
  // Memory of a program that has just ended comes back a little later.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  for (;;) {
    const std::optional<card_state> now = read_card();
    if (!now) return "the card does not answer any more";
    const std::int64_t growth =
        static_cast<std::int64_t>(now->used_bytes) - static_cast<std::int64_t>(before->used_bytes);
    if (now->corrected_errors != before->corrected_errors ||
        now->uncorrected_errors != before->uncorrected_errors) {
      return fmt::format("the card counts {} and {} memory errors, {} and {} before",
                         now->corrected_errors, now->uncorrected_errors, before->corrected_errors,
                         before->uncorrected_errors);
    }
    if (growth <= card_tolerance_bytes) return {};
    if (std::chrono::steady_clock::now() >= deadline) {
      return fmt::format("the card holds {} bytes more than before", growth);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace troupe::gpu_test
