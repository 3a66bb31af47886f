#include "backend/cuda/context/executor.hpp"
#include "libraries/tensors/cuda/executors.hpp"

namespace troupe::cuda {
namespace {

const plugin_operations contract_operations([](operation_table& table) {
  add<tensors::contract>(table, run_tensors);
  add<tensors::einsum>(table, run_tensors);
});

}  // namespace
}  // namespace troupe::cuda
