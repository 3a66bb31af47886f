#include "libraries/elementwise/cuda/steps.hpp"

namespace troupe::cuda {
namespace {

const plugin_operations cross_entropy_operations([](operation_table& table) {
  add_steps<elementwise::cross_entropy, elementwise::cross_entropy_backward, elementwise::nll_loss,
            elementwise::nll_loss_backward>(table);
});

}  // namespace
}  // namespace troupe::cuda
