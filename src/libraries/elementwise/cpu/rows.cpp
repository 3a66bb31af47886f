#include "libraries/elementwise/cpu/elementwise.hpp"

#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

const plugin_operations rows_operations([](operation_table& table) {
  table.add<elementwise::rows>(run_elementwise, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
