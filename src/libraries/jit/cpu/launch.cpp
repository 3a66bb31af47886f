#include "libraries/jit/cpu/no_kernels.hpp"

#include <troupe/jit/launch.hpp>
#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

result<void> run_launch(const jit::launch&, lane_context&) { return no_kernels(); }

const plugin_operations launch_operations([](operation_table& table) {
  table.add<jit::launch>(run_launch, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
