#include <troupe/jit/launch.hpp>
#include <troupe/plugin/static_registration.hpp>

namespace troupe::cuda {
namespace {

// Images stay as long as their context. The work behind a programmatic launch may begin before
// its end, which the order of a recording does not say.
bool waits_its_turn(const void* request) {
  return !static_cast<const jit::launch*>(request)->programmatic;
}

const plugin_recordings recordings([](recordable_operations& can) {
  can.be<jit::launch>(&waits_its_turn);
});

}  // namespace
}  // namespace troupe::cuda
