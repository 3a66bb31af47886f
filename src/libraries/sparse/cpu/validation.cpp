#include "libraries/sparse/cpu/pattern_check.hpp"

#include <troupe/plugin/static_registration.hpp>
#include <troupe/sparse/validation.hpp>

namespace troupe::cpu {
namespace {

result<void> run_validate(const sparse::validate& r, lane_context&) {
  return check_pattern(r.a, sparse::pattern_claim::order);
}

const plugin_operations validation_operations([](operation_table& table) {
  table.add<sparse::validate>(run_validate, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
