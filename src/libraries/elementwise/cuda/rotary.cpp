#include "libraries/elementwise/cuda/steps.hpp"

namespace troupe::cuda {
namespace {

const plugin_operations rotary_operations([](operation_table& table) {
  add_steps<elementwise::rotary_embedding, elementwise::rotary_embedding_backward>(table);
});

}  // namespace
}  // namespace troupe::cuda
