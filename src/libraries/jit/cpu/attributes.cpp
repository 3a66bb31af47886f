#include "libraries/jit/cpu/no_kernels.hpp"

#include <troupe/jit/attributes.hpp>
#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

result<jit::kernel_attributes> ask_attributes(const jit::attributes&, lane_context&) {
  return no_kernels();
}
result<jit::kernel_occupancy> ask_occupancy(const jit::occupancy&, lane_context&) {
  return no_kernels();
}

const plugin_operations attributes_operations([](operation_table& table) {
  table.add<jit::attributes>(ask_attributes, effort::by_size);
  table.add<jit::occupancy>(ask_occupancy, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
