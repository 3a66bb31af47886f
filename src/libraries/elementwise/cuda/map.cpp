#include "backend/cuda/context/executor.hpp"
#include "libraries/elementwise/cuda/elementwise.hpp"

namespace troupe::cuda {
namespace {

const plugin_operations map_operations([](operation_table& table) {
  add<elementwise::map>(table, run_elementwise);
});

}  // namespace
}  // namespace troupe::cuda
