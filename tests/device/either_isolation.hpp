#pragma once

#include "operations.hpp"

#include <troupe/lane/marker.hpp>

#include <gtest/gtest.h>

#include <string>

namespace troupe::test {

/// Tests of what holds wherever the worker is, in a process and in a thread.
class either_isolation : public ::testing::TestWithParam<isolation> {
 protected:
  void expect_usable() { EXPECT_TRUE(gpu_.ask(lane::marker{}).get_result()); }
  /// In the other's place, so that one GPU is enough.
  device instead(const device_config& config) {
    gpu_.stop();
    return system_.device(0, config);
  }
  static device_config config() {
    device_config c = permissive();
    c.isolation = GetParam();
    return c;
  }

  troupe::system system_;
  device gpu_ = system_.device(0, config());
};

/// Names the two in reports.
inline std::string process_or_thread(const ::testing::TestParamInfo<isolation>& where) {
  return where.param == isolation::process ? "Process" : "Thread";
}

}  // namespace troupe::test
