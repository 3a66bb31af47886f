#include "libraries/elementwise/cuda/steps.hpp"

namespace troupe::cuda {
namespace {

const plugin_operations optimizers_operations([](operation_table& table) {
  add_steps<elementwise::sgd, elementwise::adamw>(table);
});

}  // namespace
}  // namespace troupe::cuda
