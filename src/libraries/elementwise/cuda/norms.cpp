#include "libraries/elementwise/cuda/steps.hpp"

namespace troupe::cuda {
namespace {

const plugin_operations norms_operations([](operation_table& table) {
  add_steps<elementwise::layer_norm, elementwise::layer_norm_backward, elementwise::rms_norm,
            elementwise::rms_norm_backward, elementwise::group_norm,
            elementwise::group_norm_backward, elementwise::instance_norm,
            elementwise::instance_norm_backward, elementwise::l2_normalize,
            elementwise::l2_normalize_backward>(table);
});

}  // namespace
}  // namespace troupe::cuda
