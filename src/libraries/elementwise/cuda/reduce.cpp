#include "libraries/elementwise/cuda/steps.hpp"

namespace troupe::cuda {
namespace {

const plugin_operations reduce_operations([](operation_table& table) {
  add_steps<elementwise::reduce>(table);
});

}  // namespace
}  // namespace troupe::cuda
