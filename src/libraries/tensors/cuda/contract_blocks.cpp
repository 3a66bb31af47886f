#include "backend/cuda/context/executor.hpp"
#include "libraries/tensors/cuda/executors.hpp"

namespace troupe::cuda {
namespace {

const plugin_operations contract_blocks_operations([](operation_table& table) {
  add<tensors::contract_blocks>(table, run_tensors);
});

}  // namespace
}  // namespace troupe::cuda
