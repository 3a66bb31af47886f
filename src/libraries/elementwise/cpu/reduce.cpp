#include "libraries/elementwise/cpu/steps.hpp"

#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

const plugin_operations reduce_operations([](operation_table& table) {
  add_steps<elementwise::reduce>(table);
});

}  // namespace
}  // namespace troupe::cpu
