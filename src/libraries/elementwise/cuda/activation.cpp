#include "libraries/elementwise/cuda/steps.hpp"

namespace troupe::cuda {
namespace {

const plugin_operations activation_operations([](operation_table& table) {
  add_steps<elementwise::activation, elementwise::activation_backward, elementwise::bias_add,
            elementwise::bias_add_backward, elementwise::residual_add, elementwise::dropout>(table);
});

}  // namespace
}  // namespace troupe::cuda
