#include "libraries/collective/cpu/copies.hpp"

#include <troupe/collective/exchange.hpp>
#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

const plugin_operations exchanges([](operation_table& table) {
  table.add<collective::all_to_all>(run_copies<collective::all_to_all>);
  table.add<collective::all_to_allv>(run_copies<collective::all_to_allv>);
  table.add<collective::exchange>(run_copies<collective::exchange>);
  table.add<collective::barrier>(run_copies<collective::barrier>);
});

}  // namespace
}  // namespace troupe::cpu
