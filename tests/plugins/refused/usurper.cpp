// Brings an operation of a library of Troupe's own.

#include <troupe/plugin/static_registration.hpp>

namespace {

struct usurped {
  static constexpr std::string_view name = "blas.of_mine";
  using reply = void;
  static void describe(troupe::description<usurped>&) {}
};

const troupe::plugin_operations operations([](troupe::operation_table& table) {
  table.add<usurped>(
      [](const usurped&, troupe::lane_context&) -> troupe::result<void> { return {}; });
});

}  // namespace
