#include "backend/cuda/context/executor.hpp"
#include "libraries/tensors/cuda/executors.hpp"

namespace troupe::cuda {
namespace {

const plugin_operations combine_operations([](operation_table& table) {
  add<tensors::permute>(table, run_tensors);
  add<tensors::unary>(table, run_tensors);
  add<tensors::binary>(table, run_tensors);
  add<tensors::trinary>(table, run_tensors);
});

}  // namespace
}  // namespace troupe::cuda
