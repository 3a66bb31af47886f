#pragma once

#include <troupe/core/system.hpp>
#include <troupe/device/device.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace troupe::gpu_test {

/// Tests whose workers are killed again and again, on the CPU backend and on queues: the parameter
/// is the plugin, or empty.
class LostWorkers : public testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] device make_device() {
    return system_.device(0, {.backend = GetParam().empty() ? backend_kind::cpu : backend_kind{},
                              .full = when_full::wait,
                              .restarts = {.restarts = 1'000},
                              .backoff = {.initial = std::chrono::nanoseconds(0)},
                              .backend_path = GetParam()});
  }

 private:
  troupe::system system_;
};

inline std::string name_of_backend(const testing::TestParamInfo<std::string>& which) {
  return which.param.empty() ? "Cpu" : "Queues";
}

}  // namespace troupe::gpu_test
