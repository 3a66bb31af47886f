#include "libraries/elementwise/shared/named.hpp"

#include "libraries/elementwise/cpu/elementwise.hpp"

#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

template <class R>
result<void> run_steps(const R& r, lane_context& where) {
  for (const elementwise::step& one : elementwise::steps_of(r)) {
    auto done = std::visit([&](const auto& what) { return run_elementwise(what, where); }, one);
    if (!done) return done;
  }
  return {};
}

template <class... R>
void add_all(operation_table& table, elementwise::request_list<R...>) {
  (table.add<R>(run_steps<R>, effort::by_size), ...);
}

const plugin_operations operations([](operation_table& table) {
  add_all(table, elementwise::named_requests());
});

}  // namespace
}  // namespace troupe::cpu
