#include "libraries/elementwise/cuda/steps.hpp"

namespace troupe::cuda {
namespace {

const plugin_operations selection_operations([](operation_table& table) {
  add_steps<elementwise::clamp, elementwise::where, elementwise::compare, elementwise::one_hot,
            elementwise::arange>(table);
});

}  // namespace
}  // namespace troupe::cuda
