#include "libraries/tensors/cpu/executors.hpp"

#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

const plugin_operations contract_operations([](operation_table& table) {
  table.add<tensors::contract>(run_tensors, effort::by_size);
  table.add<tensors::einsum>(run_tensors, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
