#include "libraries/elementwise/shared/named.hpp"

#include "backend/cuda/context/executor.hpp"
#include "libraries/elementwise/cuda/elementwise.hpp"

namespace troupe::cuda {
namespace {

template <class R>
result<void> run_steps(const R& r, lane& where) {
  for (const elementwise::step& one : elementwise::steps_of(r)) {
    auto done = std::visit([&](const auto& what) { return run_elementwise(what, where); }, one);
    if (!done) return done;
  }
  return {};
}

template <class... R>
void add_all(operation_table& table, elementwise::request_list<R...>) {
  (add<R>(table, run_steps<R>), ...);
}

const plugin_operations operations([](operation_table& table) {
  add_all(table, elementwise::named_requests());
});

}  // namespace
}  // namespace troupe::cuda
