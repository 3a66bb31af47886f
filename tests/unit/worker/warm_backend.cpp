// A backend without an accelerator that counts how often it warms up, and can refuse to.

#include <troupe/base/export.hpp>
#include <troupe/plugin/executor.hpp>

#include <cstdlib>

extern "C" {

TROUPE_EXPORT int troupe_backend_times_warm = 0;

TROUPE_EXPORT void troupe_backend_operations(troupe::operation_table&) {}

TROUPE_EXPORT void troupe_backend_warm_up(troupe::lane_context& lane,
                                          troupe::result<void>& outcome) {
  ++troupe_backend_times_warm;
  auto room = lane.workspace(100);
  if (!room || room->size() != 100 || std::getenv("TROUPE_TEST_COLD") != nullptr) {
    outcome = troupe::error{.code = troupe::errc::library_error, .message = "cold"};
  }
}
}
