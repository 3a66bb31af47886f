#include "backend/cuda/context/executor.hpp"
#include "libraries/tensors/cuda/executors.hpp"

namespace troupe::cuda {
namespace {

const plugin_operations reduce_operations([](operation_table& table) {
  add<tensors::reduce>(table, run_tensors);
});

}  // namespace
}  // namespace troupe::cuda
