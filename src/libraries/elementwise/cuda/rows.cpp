#include "backend/cuda/context/executor.hpp"
#include "libraries/elementwise/cuda/elementwise.hpp"

namespace troupe::cuda {
namespace {

const plugin_operations rows_operations([](operation_table& table) {
  add<elementwise::rows>(table, run_elementwise);
});

}  // namespace
}  // namespace troupe::cuda
