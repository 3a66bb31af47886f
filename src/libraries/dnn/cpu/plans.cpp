#include <troupe/dnn/plans.hpp>
#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

result<dnn::plan_counts> count_plans(const dnn::plans&, lane_context&) {
  return dnn::plan_counts{};
}

const plugin_operations plans_operations([](operation_table& table) {
  table.add<dnn::plans>(count_plans, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
