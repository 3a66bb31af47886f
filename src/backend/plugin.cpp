#include <troupe/base/export.hpp>
#include <troupe/plugin/plugin_stamp.hpp>
#include <troupe/plugin/static_registration.hpp>

// The entry points that a worker looks for in every plugin; each plugin holds a copy of these.
extern "C" {

TROUPE_EXPORT extern constinit const troupe::plugin_stamp troupe_backend_stamp;
constinit const troupe::plugin_stamp troupe_backend_stamp = troupe::plugin_stamp::of_this_build();

TROUPE_EXPORT void troupe_backend_operations(troupe::operation_table& table) {
  troupe::plugin_operations::visit([&](auto& add) { add(table); });
  troupe::recordable_operations can(table);
  troupe::plugin_recordings::visit([&](auto& list) { list(can); });
}

TROUPE_EXPORT void troupe_backend_warm_up(troupe::lane_context& lane,
                                          troupe::result<void>& outcome) {
  troupe::plugin_warm_up::visit([&](auto& warm_up) {
    if (outcome) outcome = warm_up(lane);
  });
}
}
