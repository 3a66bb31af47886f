// Brings an operation that another plugin, or the program, has already.

#include "trial.hpp"

#include <troupe/plugin/static_registration.hpp>

namespace trial {
namespace {

const troupe::plugin_operations operations([](troupe::operation_table& table) {
  table.add<affine>(
      [](const affine&, troupe::lane_context&) -> troupe::result<void> { return {}; });
});

}  // namespace
}  // namespace trial
