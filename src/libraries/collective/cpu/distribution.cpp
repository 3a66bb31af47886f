#include "libraries/collective/cpu/copies.hpp"

#include <troupe/collective/distribution.hpp>
#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

const plugin_operations distributions([](operation_table& table) {
  table.add<collective::broadcast>(run_copies<collective::broadcast>);
  table.add<collective::all_gather>(run_copies<collective::all_gather>);
  table.add<collective::gather>(run_copies<collective::gather>);
  table.add<collective::scatter>(run_copies<collective::scatter>);
});

}  // namespace
}  // namespace troupe::cpu
