#include "libraries/primitives/cuda/selection.hpp"

#include "backend/cuda/context/executor.hpp"

namespace troupe::cuda {
namespace {

const plugin_operations selection_operations([](operation_table& table) {
  add<primitives::select>(table, enqueue_select);
  add<primitives::partition>(table, enqueue_partition);
  add<primitives::unique>(table, enqueue_unique);
  add<primitives::run_length>(table, enqueue_run_length);
});

}  // namespace

}  // namespace troupe::cuda
