// A second executor of what another source of the same plugin brings.

#include "trial.hpp"

#include <troupe/plugin/static_registration.hpp>

namespace trial {
namespace {

const troupe::plugin_operations operations([](troupe::operation_table& table) {
  table.add<total>(
      [](const total&, troupe::lane_context&) -> troupe::result<double> { return 0.0; });
});

}  // namespace
}  // namespace trial
