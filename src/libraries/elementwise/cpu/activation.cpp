#include "libraries/elementwise/cpu/steps.hpp"

#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

const plugin_operations activation_operations([](operation_table& table) {
  add_steps<elementwise::activation, elementwise::activation_backward, elementwise::bias_add,
            elementwise::bias_add_backward, elementwise::residual_add, elementwise::dropout>(table);
});

}  // namespace
}  // namespace troupe::cpu
