#include "libraries/elementwise/cuda/steps.hpp"

namespace troupe::cuda {
namespace {

const plugin_operations softmax_operations([](operation_table& table) {
  add_steps<elementwise::softmax, elementwise::softmax_backward, elementwise::log_softmax,
            elementwise::log_softmax_backward>(table);
});

}  // namespace
}  // namespace troupe::cuda
