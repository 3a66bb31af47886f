#include "plugin_device.hpp"

#include <chrono>
#include <filesystem>
#include <thread>

namespace troupe::plugin_test {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

std::string plugin(const std::string& name) {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  return (program.parent_path() / "../lib/plugins" / ("lib" + name + ".so"))
      .lexically_normal()
      .string();
}

device_config PluginDevice::config() {
  return {.backend = GetParam(),
          .memory_limit_bytes = std::uint64_t{256} << 20,
          .restarts = {.restarts = 1'000},
          .backoff = {.initial = 0ns},
          .fault_injection = true,
          .plugins = {plugin("trial")}};
}

void PluginDevice::SetUp() {
  // Called once: if there is a GPU, a context on it is created for the answer.
  static const std::string why_no_gpu = []() -> std::string {
    try {
      troupe::system system;
      (void)system.device(0, {.backend = backend_kind::cuda, .standby = false});
    } catch (const failure& why) {
      return why.error().message;
    }
    return {};
  }();
  if (on_gpu() && !why_no_gpu.empty()) GTEST_SKIP() << "no GPU: " << why_no_gpu;
}

device PluginDevice::ready(const device_config& with) {
  device made = system_.device(0, with);
  made.wait_until_ready().value();
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (with.isolation == isolation::process && with.standby && !made.health().standby_ready &&
         std::chrono::steady_clock::now() < end)
    std::this_thread::yield();
  return made;
}

tensor<float> PluginDevice::vector_of(device& on, const std::vector<float>& values) {
  auto made = on.tensor<float>({static_cast<std::int64_t>(values.size())}).value();
  on.copy(std::span(values), made).get();
  return made;
}

std::vector<float> PluginDevice::values_of(const device& on, const any_tensor& t) {
  std::vector<float> values(static_cast<std::size_t>(t.count()));
  device(on).copy(t, std::span(values)).get();
  return values;
}

std::string backend_name(const ::testing::TestParamInfo<backend_kind>& backend) {
  return backend.param == backend_kind::cuda ? "Cuda" : "Cpu";
}

}  // namespace troupe::plugin_test
