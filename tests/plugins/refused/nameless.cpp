// Brings an operation whose name has no library.

#include <troupe/plugin/static_registration.hpp>

namespace {

struct alone {
  static constexpr std::string_view name = "alone";
  using reply = void;
  static void describe(troupe::description<alone>&) {}
};

const troupe::plugin_operations operations([](troupe::operation_table& table) {
  table.add<alone>([](const alone&, troupe::lane_context&) -> troupe::result<void> { return {}; });
});

}  // namespace
