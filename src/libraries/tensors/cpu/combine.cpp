#include "libraries/tensors/cpu/executors.hpp"

#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

const plugin_operations combine_operations([](operation_table& table) {
  table.add<tensors::permute>(run_tensors, effort::by_size);
  table.add<tensors::unary>(run_tensors, effort::by_size);
  table.add<tensors::binary>(run_tensors, effort::by_size);
  table.add<tensors::trinary>(run_tensors, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
