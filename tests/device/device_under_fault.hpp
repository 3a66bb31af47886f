#pragma once

#include "operations.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

namespace troupe::test {

/// The outcome of a request that must end: a lost one fails the test instead of hanging it.
inline result<void> ended(future<void> f) {
  constexpr auto patience = std::chrono::seconds(20);
  if (!f.wait_for(patience)) return error{.code = errc::timed_out, .message = "lost"};
  return f.get_result();
}

/// Tests of devices that lose workers, each with a standby and without one.
class device_under_fault : public ::testing::TestWithParam<bool> {
 protected:
  static device_config config() {
    device_config c = permissive();
    c.standby = GetParam();
    return c;
  }
  /// Ends when the device serves requests and, if it has one, its standby is ready.
  static void settle(const device& gpu, bool standby) {
    ASSERT_TRUE(gpu.wait_until_ready());
    ASSERT_TRUE(eventually([&] { return !standby || gpu.health().standby_ready; }));
  }

  troupe::system system_;
};

/// Names the two in reports.
inline std::string with_or_without(const ::testing::TestParamInfo<bool>& standby) {
  return standby.param ? "With" : "Without";
}

}  // namespace troupe::test
