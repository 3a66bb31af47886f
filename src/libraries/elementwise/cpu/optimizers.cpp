#include "libraries/elementwise/cpu/steps.hpp"

#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

const plugin_operations optimizers_operations([](operation_table& table) {
  add_steps<elementwise::sgd, elementwise::adamw>(table);
});

}  // namespace
}  // namespace troupe::cpu
