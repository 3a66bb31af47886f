#include "libraries/elementwise/cpu/steps.hpp"

#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

const plugin_operations selection_operations([](operation_table& table) {
  add_steps<elementwise::clamp, elementwise::where, elementwise::compare, elementwise::one_hot,
            elementwise::arange>(table);
});

}  // namespace
}  // namespace troupe::cpu
