#include "libraries/tensors/cpu/executors.hpp"

#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

const plugin_operations reduce_operations([](operation_table& table) {
  table.add<tensors::reduce>(run_tensors, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
