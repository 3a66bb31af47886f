// A library that uses Troupe inside.

#include <troupe/core/system.hpp>
#include <troupe/device/device.hpp>
#include <troupe/lane/marker.hpp>

// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" __attribute__((visibility("default"))) bool use_troupe() {
  troupe::system system;
  troupe::device gpu = system.device(0, {.backend = troupe::backend_kind::cpu});
  return gpu.ask(troupe::lane::marker{}).get_result().has_value();
}
