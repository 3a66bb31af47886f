#pragma once

#include "trial.hpp"

#include <troupe/device/device.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

namespace troupe::plugin_test {

/// The plugin of that name, among those that were built with this program, wherever it lies now.
[[nodiscard]] std::string plugin(const std::string& name);

/// Waits for the end of a request, with a bound.
template <class T>
[[nodiscard]] result<T> ended(future<T> answer) {
  if (!answer.wait_for(std::chrono::seconds(60))) {
    return error{.code = errc::timed_out, .message = "not within 60 s"};
  }
  return std::move(answer).get_result();
}

[[nodiscard]] inline bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// Devices with the plugin `trial`, on one backend; where that is not there, tests are skipped.
class PluginDevice : public ::testing::TestWithParam<backend_kind> {
 protected:
  void SetUp() override;
  [[nodiscard]] static bool on_gpu() { return GetParam() == backend_kind::cuda; }
  [[nodiscard]] static device_config config();
  /// A device that is ready, and whose standby is.
  [[nodiscard]] device ready(const device_config& with = config());

  [[nodiscard]] static tensor<float> vector_of(device& on, const std::vector<float>& values);
  [[nodiscard]] static std::vector<float> values_of(const device& on, const any_tensor& t);

  troupe::system system_;
};

[[nodiscard]] std::string backend_name(const ::testing::TestParamInfo<backend_kind>& backend);

/// One u32 that the program sets and workers wait for.
class shared_flag {
 public:
  explicit shared_flag(device& on) : memory_(on.host_tensor<std::uint32_t>({1}).value()) {
    memory_[0] = 0;
  }
  void set() { std::atomic_ref(memory_[0]).store(1, std::memory_order_release); }
  [[nodiscard]] const host_tensor<std::uint32_t>& tensor() const noexcept { return memory_; }

 private:
  host_tensor<std::uint32_t> memory_;
};

}  // namespace troupe::plugin_test
