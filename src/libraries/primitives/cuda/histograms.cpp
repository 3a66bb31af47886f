#include "libraries/primitives/cuda/histograms.hpp"

#include "backend/cuda/context/executor.hpp"

namespace troupe::cuda {
namespace {

const plugin_operations histograms_operations([](operation_table& table) {
  add<primitives::histogram_even>(table, enqueue_even);
  add<primitives::histogram_range>(table, enqueue_range);
});

}  // namespace

}  // namespace troupe::cuda
