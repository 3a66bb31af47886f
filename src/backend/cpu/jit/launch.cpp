#include "backend/cpu/jit/no_kernels.hpp"

#include <troupe/ops/jit/launch.hpp>
#include <troupe/worker/plugin.hpp>

namespace troupe::cpu {
namespace {

result<void> run_launch(const jit::launch&, lane_context&) { return no_kernels(); }

const plugin_operations operations([](operation_table& table) {
  table.add<jit::launch>(run_launch, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
