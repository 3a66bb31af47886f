#include "libraries/elementwise/cpu/elementwise.hpp"

#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

const plugin_operations map_operations([](operation_table& table) {
  table.add<elementwise::map>(run_elementwise, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
