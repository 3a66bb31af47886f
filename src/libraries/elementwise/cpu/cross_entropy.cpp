#include "libraries/elementwise/cpu/steps.hpp"

#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

const plugin_operations operations([](operation_table& table) {
  add_steps<elementwise::cross_entropy, elementwise::cross_entropy_backward>(table);
});

}  // namespace
}  // namespace troupe::cpu
