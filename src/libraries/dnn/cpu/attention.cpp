#include "libraries/dnn/cpu/attention/passes.hpp"

#include <troupe/dnn/attention.hpp>
#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

const plugin_operations attention_operations([](operation_table& table) {
  table.add(&attention::forward);
  table.add(&attention::backward);
});

}  // namespace
}  // namespace troupe::cpu
